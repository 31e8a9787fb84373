import type { ErrorsByField } from '#platform/http/validation.ts'
import { PROVIDERS } from '#platform/vocabulary.ts'
import { apiBase, type TokenOwner } from './api-base.ts'
import { githubDeployment } from './deployment.ts'
import { discordMessage, slackMessage } from './messages.ts'
import { EACH_STATUS_ONCE } from './parts.ts'
import type { PresetRequests } from './requests.ts'
import { isAboutCommits, OPTIONS, type Preset, type PresetKind, providerOf } from './schema.ts'
import { giteaStatus, githubStatus, gitlabStatus } from './statuses.ts'

type AnyOf = { any_of: { path: string; exists?: boolean; matches?: string }[] }

/** The fields of an ordinary hook that does the same. */
export type ExpandedPreset = {
  target_url: string
  settings: ReturnType<typeof complete>['settings']
  /** Which events it reports, unless the hook says so itself. */
  events: readonly string[]
  /** In addition to those of the hook. */
  conditions: AnyOf[]
}

const EXPANSIONS: Record<PresetKind, (preset: Preset, api: string) => PresetRequests> = {
  github_status: githubStatus,
  github_deployment: githubDeployment,
  gitlab_status: gitlabStatus,
  gitea_status: giteaStatus,
  slack_message: slackMessage,
  discord_message: discordMessage,
}

const NAMED_COMMIT = 'action.triggered_from.hook_parsed_variables.commit'

/** Before the commit is known there is nothing to report on. What the caller named may be a branch: hashes have these lengths. */
const HAS_COMMIT: AnyOf = {
  any_of: [
    { path: 'action.action_data.commit.hash', exists: true },
    { path: NAMED_COMMIT, matches: '?'.repeat(40) },
    { path: NAMED_COMMIT, matches: '?'.repeat(64) },
  ],
}

/** What a hook with this preset sends with the token of this credential, or why it cannot. */
export function expandPreset(
  preset: Preset,
  credential: TokenOwner | null,
  timeoutSeconds: number,
): ({ kind: 'expanded' } & ExpandedPreset) | { kind: 'unfit'; errors: ErrorsByField } {
  const provider = providerOf(preset.kind)
  const errors = optionErrors(preset)
  if (credential?.provider !== provider) {
    const name = PROVIDERS[provider as keyof typeof PROVIDERS]
    errors.credential_id = [`must be a credential of ${name}, which ${preset.kind} needs`]
  }
  if (Object.keys(errors).length > 0) return { kind: 'unfit', errors }
  const expanded = EXPANSIONS[preset.kind](preset, apiBase(credential!))
  return {
    kind: 'expanded',
    ...complete(expanded, timeoutSeconds),
    events: EACH_STATUS_ONCE,
    conditions: isAboutCommits(preset.kind) ? [HAS_COMMIT] : [],
  }
}

/** With every default, as an ordinary hook is stored. */
function complete(given: PresetRequests, timeout_seconds: number) {
  if ('target_url' in given) {
    const { target_url, ...request } = given
    return { target_url, settings: { ...request, request_method: 'POST', timeout_seconds } }
  }
  const { create, update, update_after_create = false } = given.requests
  return {
    target_url: create.target_url,
    settings: {
      timeout_seconds,
      capture: given.capture.map((one) => ({ ...one, required: true, hidden: false })),
      requests: {
        create: { method: 'POST' as const, ...create },
        update: { method: 'POST' as const, ...update },
        update_after_create,
      },
    },
  }
}

function optionErrors({ kind, ...options }: Preset): ErrorsByField {
  const errors: ErrorsByField = {}
  const known: readonly string[] = OPTIONS[kind]
  for (const option of Object.keys(options))
    if (!known.includes(option)) errors[`settings.preset.${option}`] = [`is not used with ${kind}`]
  const problem = known.includes('channel') ? channelProblem(kind, options.channel) : undefined
  if (problem) errors['settings.preset.channel'] = [problem]
  return errors
}

function channelProblem(kind: PresetKind, channel: string | undefined): string | undefined {
  if (channel === undefined) return `is required for ${kind}`
  if (kind === 'discord_message')
    return /^\d{1,20}$/.test(channel)
      ? undefined
      : 'must be the numeric id of the channel: switch on developer mode in Discord, then Copy Channel ID'
  return /^#?[\p{L}\p{N}._-]+$/u.test(channel) ? undefined : 'must be the id or the name of a channel'
}
