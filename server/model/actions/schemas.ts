// The actions room: runs of pipelines. Here is their JSON; status.ts has their states, start-actions.ts stores new
// ones, read-action.ts and assemble.ts build responses.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { environmentSchema, organizationSchema, projectSchema } from '#model/inventory/schemas.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import {
  Exactly,
  Id,
  IdOrNull,
  IntegerOrNull,
  namedObject,
  ref,
  refOrNull,
  TextOrNull,
  TimestampOrNull,
  timestamps,
  Uuid,
  UuidOrNull,
  Word,
} from '#platform/http/schemas.ts'
import { OPERATIONS, type Operation, REASONS, RESOURCE_TYPES, STATUSES } from '#platform/vocabulary.ts'

export const statusFields = {
  status: Word(Object.keys(STATUSES) as Status[]),
  status_human_readable: Type.String(),
  status_reason_code: Word(Object.keys(REASONS) as ReasonCode[]),
  status_reason_human_readable: Type.String(),
}

export const typeFields = {
  type: Word(Object.keys(OPERATIONS) as Operation[]),
  type_human_readable: Type.String(),
}

const times = {
  started_at: TimestampOrNull,
  completed_at: TimestampOrNull,
  ...timestamps,
}

export const stepSchema = namedObject('Step', {
  id: Id,
  action_id: Id,
  action_target_id: Id,
  name: Type.String(),
  description: TextOrNull(),
  order: Type.Integer({ minimum: 1 }),
  ...statusFields,
  ...times,
})
export type Step = Static<typeof stepSchema>

export const serverResourceSchema = namedObject('ServerResource', {
  id: Id,
  name: Type.String(),
  provider_type: Type.String(),
  provider_code: Type.String(),
  provider_name: Type.String(),
  provider_name_human_readable: Type.String(),
})

export const targetSchema = namedObject('Target', {
  id: Id,
  resource_type: Word(Object.keys(RESOURCE_TYPES)),
  resource_type_human_readable: Type.String(),
  resource_id: Id,
  ...statusFields,
  total_steps: Type.Integer(),
  current_step: refOrNull(stepSchema),
  steps: Type.Array(ref(stepSchema)),
  resource_data: ref(serverResourceSchema),
  ...times,
})
export type Target = Static<typeof targetSchema>

const targetSummarySchema = namedObject('TargetSummary', {
  count: Type.Integer(),
  pending: Type.Integer({ description: 'Pending, waiting and queued.' }),
  in_progress: Type.Integer(),
  completed: Type.Integer(),
  failed: Type.Integer(),
})
export type TargetSummary = Static<typeof targetSummarySchema>

const commitSchema = namedObject('Commit', {
  repository: TextOrNull(),
  author_name: TextOrNull(),
  author_email: TextOrNull(),
  committed_at: TimestampOrNull,
  hash: TextOrNull(),
  message: TextOrNull(),
  url: TextOrNull(),
  clone_url: TextOrNull(),
  download_url: TextOrNull(),
})

const deploymentSchema = namedObject('Deployment', {
  type: Type.String(),
  source_type: TextOrNull(),
  source_ref: TextOrNull(),
  repository: TextOrNull(),
  provider_name: TextOrNull(),
  pipeline_id: Id,
})

const actionDataSchema = namedObject('ActionData', {
  release_name: TextOrNull(),
  commit: refOrNull(commitSchema),
  deployment: refOrNull(deploymentSchema),
})

const triggeredFromSchema = namedObject('TriggeredFrom', {
  origin: TextOrNull(),
  trigger_type: Type.String(),
  name: TextOrNull(),
  email: TextOrNull(),
  ip_address: TextOrNull(),
  user_id: IdOrNull,
  hook_id: UuidOrNull,
  hook_request_id: UuidOrNull,
  hook_parsed_variables: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Variables that the incoming hook extracted from its payload. An action that another one started has those of the first action of the chain. Empty when no hook started it.',
  }),
})

const summaryFields = {
  id: Id,
  ...statusFields,
  ...typeFields,
  url_web_permalink: Type.String({ format: 'uri' }),
  action_data: ref(actionDataSchema),
  triggered_from: ref(triggeredFromSchema),
  summary: Exactly({ targets: ref(targetSummarySchema) }),
  targets: Type.Array(ref(targetSchema)),
  ...times,
}

/** An action embedded in its resource: it does not embed the resource again, so nesting ends here. */
const actionSummarySchema = namedObject('ActionSummary', summaryFields)
export type ActionSummary = Static<typeof actionSummarySchema>

export const credentialSchema = namedObject('Credential', {
  id: Id,
  name: Type.String(),
  provider: Exactly({
    active: Type.Boolean(),
    code: Type.String(),
    code_human_readable: Type.String(),
    type: Type.String(),
    type_human_readable: Type.String(),
  }),
  provider_type: Type.String(),
  provider_type_human_readable: Type.String(),
  provider_auth_type: Type.String(),
  provider_auth_type_human_readable: Type.String(),
  active: Type.Boolean(),
  organization: ref(organizationSchema),
  created_by_user: ref(userSchema),
  last_action: refOrNull(actionSummarySchema),
  ...timestamps,
})

export const applicationSchema = namedObject('Application', {
  id: Id,
  project_id: Id,
  environment_id: Id,
  created_by: Id,
  name: Type.String(),
  repository: Type.String(),
  repository_name: TextOrNull(),
  repository_owner: TextOrNull(),
  default_branch: Type.String(),
  programming_language: TextOrNull(),
  programming_language_human_readable: TextOrNull(),
  engine_version: TextOrNull(),
  framework: TextOrNull(),
  framework_human_readable: TextOrNull(),
  root_directory: TextOrNull(),
  install_dependencies_command: TextOrNull(),
  build_command: TextOrNull(),
  deployments_keep: Type.Integer(),
  last_deployments: Exactly({
    latest: refOrNull(actionSummarySchema),
    live: refOrNull(actionSummarySchema),
  }),
  credential: refOrNull(credentialSchema),
  ...timestamps,
})
export type Application = Static<typeof applicationSchema>

const actionResourceSchema = namedObject('ActionResource', {
  id: Id,
  type: Word(Object.keys(RESOURCE_TYPES)),
  type_human_readable: Type.String(),
  data: Type.Unsafe<Static<typeof applicationSchema> | Static<typeof serverResourceSchema>>({
    anyOf: [{ $ref: 'Application#' }, { $ref: 'ServerResource#' }],
  }),
})
export type ActionResource = Static<typeof actionResourceSchema>

const listItem = {
  ...summaryFields,
  trigger_comment: TextOrNull(),
  resource: ref(actionResourceSchema),
  organization: ref(organizationSchema),
  project: ref(projectSchema),
  environment: ref(environmentSchema),
}

export const actionListItemSchema = namedObject('ActionListItem', listItem)
export type ActionListItem = Static<typeof actionListItemSchema>

const actionRefSchema = namedObject('ActionRef', {
  id: Id,
  status: statusFields.status,
  status_human_readable: Type.String(),
  ...typeFields,
  resource_name: Type.String(),
  resource_type: Type.String(),
  resource_type_human_readable: Type.String(),
  url_web_permalink: Type.String({ format: 'uri' }),
})
export type ActionRef = Static<typeof actionRefSchema>

export const hookRequestSchema = namedObject('HookRequest', {
  id: Uuid,
  hook_id: Uuid,
  action_id: IdOrNull,
  retry_of: UuidOrNull,
  ip_address: TextOrNull(),
  url: Type.String(),
  response_status_code: IntegerOrNull(),
  ...timestamps,
})
export type HookRequest = Static<typeof hookRequestSchema>

export const actionSchema = namedObject('Action', {
  ...listItem,
  pipeline_id: Id,
  retry_of: IdOrNull,
  parent: refOrNull(actionRefSchema),
  children: Type.Array(ref(actionRefSchema)),
  triggered_by_user: refOrNull(userSchema),
  hook_requests: Exactly({
    incoming: refOrNull(hookRequestSchema),
    outgoing: refOrNull(hookRequestSchema),
  }),
})
export type Action = Static<typeof actionSchema>

export const actionSchemas = [
  stepSchema,
  targetSchema,
  targetSummarySchema,
  commitSchema,
  deploymentSchema,
  actionDataSchema,
  triggeredFromSchema,
  actionSummarySchema,
  credentialSchema,
  applicationSchema,
  serverResourceSchema,
  actionResourceSchema,
  actionListItemSchema,
  actionRefSchema,
  hookRequestSchema,
  actionSchema,
]
