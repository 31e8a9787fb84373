// The presets of outgoing hooks: requests to services that Gantry knows, so that a hook needs only a credential and, for
// chat, a channel. A preset is stored as it was given and expanded whenever the hook is shown, saved or sent: with a new
// release, its hooks send what that release sends. Pure.
import * as t from '#platform/http/schemas.ts'
import type { PROVIDERS } from '#platform/vocabulary.ts'

const text = (maxLength: number, description: string) =>
  t.Optional(t.Text({ minLength: 1, maxLength, description }))
const flag = (description: string) => t.Optional(t.Flag({ description }))

const fields = {
  context: text(
    255,
    'For statuses: the name that the service shows; may contain templates. Default: `gantry/<environment>/<pipeline>`.',
  ),
  project: text(
    255,
    "For `gitlab_status`: the path or numeric id of the project. Default: that of the application's repository.",
  ),
  environment: text(
    255,
    'For `github_deployment`: the environment at GitHub; may contain templates. Default: the name of the environment.',
  ),
  environment_url: text(
    1024,
    'For `github_deployment`: where the application can be opened; may contain templates.',
  ),
  auto_inactive: flag(
    'For `github_deployment`: whether a successful deployment makes the earlier ones of the environment inactive. Default: true.',
  ),
  production: flag(
    'For `github_deployment`: whether it is an environment that users work with. Default: what GitHub decides by its name.',
  ),
  channel: text(
    100,
    'For messages, required: the id or name of the Slack channel, or the numeric id of the Discord channel.',
  ),
} satisfies Record<string, t.TSchema>

type Option = keyof typeof fields

/** A kind begins with the provider of the credential that it needs. */
const PRESETS = {
  github_status: ['context'],
  github_deployment: ['environment', 'environment_url', 'auto_inactive', 'production'],
  gitlab_status: ['context', 'project'],
  gitea_status: ['context'],
  slack_message: ['channel'],
  discord_message: ['channel'],
} satisfies Record<string, readonly Option[]>

export type PresetKind = keyof typeof PRESETS
export const PRESET_KINDS = Object.keys(PRESETS) as PresetKind[]

/** The options of each kind. */
export const OPTIONS: Record<PresetKind, readonly Option[]> = PRESETS

export const presetSchema = t.namedObject('HookPreset', {
  kind: t.Word(PRESET_KINDS, 'What the hook sends.'),
  ...fields,
})
export type Preset = t.Static<typeof presetSchema>

/** The provider of the credential that a preset needs. */
export const providerOf = (kind: PresetKind) => kind.split('_')[0] as keyof typeof PROVIDERS

/** Whether it reports on commits, which only pipelines of applications have. */
export const isAboutCommits = (kind: PresetKind): boolean => !kind.endsWith('_message')
