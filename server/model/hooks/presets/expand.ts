import type { ErrorsByField } from '#platform/http/validation.ts'
import { PROVIDERS } from '#platform/vocabulary.ts'
import { apiBase, type TokenOwner } from './api-base.ts'
import { discordMessage, slackMessage } from './messages.ts'
import {
  COMMIT,
  CONTEXT,
  DEPLOYMENT_STATE,
  DESCRIPTION,
  GITHUB_HEADERS,
  GITHUB_STATE,
  GITLAB_STATE,
  LINK,
  PRESET_EVENTS,
  type PresetRequests,
  REPOSITORY,
} from './parts.ts'
import { isAboutCommits, OPTIONS, type Preset, type PresetKind, providerOf } from './schema.ts'

type AnyOf = { any_of: { path: string; exists?: boolean; matches?: string }[] }

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
export function expandPreset(preset: Preset, credential: TokenOwner | null, timeoutSeconds: number) {
  const provider = providerOf(preset.kind)
  const errors = optionErrors(preset)
  if (credential?.provider !== provider) {
    errors.credential_id = [`must be a credential of ${PROVIDERS[provider]}, which ${preset.kind} needs`]
  }
  if (Object.keys(errors).length > 0) return { kind: 'unfit' as const, errors }
  const expanded = EXPANSIONS[preset.kind](preset, apiBase(credential!))
  return {
    kind: 'expanded' as const,
    /** The fields of an ordinary hook that does the same. */
    ...complete(expanded, timeoutSeconds),
    /** Which events it reports, unless the hook says so itself. */
    events: PRESET_EVENTS,
    /** In addition to those of the hook. */
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

/** The answer to a status has an `id`, too, of the status; `statuses_url` is only in that to the deployment. */
const DEPLOYMENT_ID = "{{ captured.statuses_url | replace: '/statuses', '' | split: '/' | last }}"

/**
 * A deployment starts without a status, so its first one follows right away: also a run whose final status is the first
 * that arrives ends with that status.
 */
function githubDeployment(preset: Preset, api: string): PresetRequests {
  const { environment = '{{ environment.name }}', environment_url, auto_inactive = true, production } = preset
  const deployments = `${api}/repos/${REPOSITORY}/deployments`
  const request_headers = GITHUB_HEADERS('{{ credential.access_token }}')
  return {
    capture: [{ name: 'statuses_url', path: 'statuses_url', type: 'string' }],
    requests: {
      update_after_create: true,
      create: {
        target_url: deployments,
        request_headers,
        request_body: {
          ref: COMMIT,
          task: 'deploy',
          auto_merge: false,
          required_contexts: [],
          environment,
          description: "{{ pipeline.name | append: ', run ' | append: action.id | truncate: 140 }}",
          ...(production !== undefined && { production_environment: production }),
        },
      },
      update: {
        target_url: `${deployments}/${DEPLOYMENT_ID}/statuses`,
        request_headers,
        request_body: {
          state: DEPLOYMENT_STATE,
          log_url: LINK,
          description: DESCRIPTION,
          ...(environment_url !== undefined && { environment_url }),
          auto_inactive,
        },
      },
    },
  }
}

const TOKEN = '{{ credential.access_token }}'

/**
 * The path of the application's repository in a segment of its own: an assigned name is encoded as a whole, its slashes
 * included. `prefix`: where the service is on its host.
 */
const projectPath = (prefix: string) =>
  [
    "{% if application.repository contains '://' %}",
    "{% assign path = application.repository | split: '://' | last | split: '/' | slice: 1, 50 | join: '/' %}",
    "{% elsif application.repository contains ':' %}{% assign path = application.repository | split: ':' | last %}",
    '{% else %}{% assign path = application.repository %}{% endif %}',
    `{% assign path = path | append: '|' | replace: '/|', '|' | replace: '.git|', '' | remove: '|'${prefix && ` | remove_first: '${prefix}/'`} %}{{ path }}`,
  ].join('')

const about = { description: DESCRIPTION, target_url: LINK }

function githubStatus({ context = CONTEXT }: Preset, api: string): PresetRequests {
  return {
    target_url: `${api}/repos/${REPOSITORY}/statuses/${COMMIT}`,
    request_headers: GITHUB_HEADERS(TOKEN),
    request_body: { state: GITHUB_STATE, context, ...about },
  }
}

function gitlabStatus({ context = CONTEXT, project }: Preset, api: string): PresetRequests {
  const prefix = new URL(api).pathname.replaceAll(/^\/|\/$|'/g, '')
  const segment =
    project === undefined ? projectPath(prefix) : encodeURIComponent(project.replaceAll(/%2F/gi, '/'))
  return {
    target_url: `${api}/api/v4/projects/${segment}/statuses/${COMMIT}`,
    request_headers: [{ name: 'PRIVATE-TOKEN', value: TOKEN }],
    request_body: { state: GITLAB_STATE, name: context, ...about },
  }
}

function giteaStatus({ context = CONTEXT }: Preset, api: string): PresetRequests {
  return {
    target_url: `${api}/api/v1/repos/${REPOSITORY}/statuses/${COMMIT}`,
    request_headers: [{ name: 'Authorization', value: `token ${TOKEN}` }],
    request_body: { state: GITHUB_STATE, context, ...about },
  }
}
