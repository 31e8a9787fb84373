// The names by which pages know the shapes of the API.
import type { components } from '#client/index.ts'

type Schemas = components['schemas']

export type Action = Schemas['Action']
export type ActionListItem = Schemas['ActionListItem']
export type ActionMove = Schemas['ActionMove']
export type ActionRef = Schemas['ActionRef']
export type Environment = Schemas['Environment']
export type FailingHook = Schemas['FailingHook']
export type Grant = Schemas['Grant']
export type Hook = Schemas['Hook']
export type HookRequestDetail = Schemas['HookRequestDetail']
export type HookRequestRecord = Schemas['HookRequestRecord']
export type Invitation = Schemas['Invitation']
export type LogText = Schemas['LogText']
export type Organization = Schemas['Organization']
export type Overview = Schemas['Overview']
export type OverviewRun = Schemas['OverviewRun']
export type Pipeline = Schemas['Pipeline']
export type PipelineStep = Schemas['PipelineStep']
export type Role = Schemas['Role']
export type RunPlan = Schemas['RunPlan']
export type Step = Schemas['Step']
export type Target = Schemas['Target']

export type RunBody = Schemas['RunRequest']
export type TokenBody = Schemas['CreatePersonalAccessTokenRequest']
