import {
  COMMIT,
  CONTEXT,
  GITHUB_HEADERS,
  GITHUB_STATE,
  GITLAB_STATE,
  LINK,
  REASON,
  REPOSITORY,
} from './parts.ts'
import type { PresetRequests } from './requests.ts'
import type { Preset } from './schema.ts'

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

const about = { description: REASON, target_url: LINK }

export function githubStatus({ context = CONTEXT }: Preset, api: string): PresetRequests {
  return {
    target_url: `${api}/repos/${REPOSITORY}/statuses/${COMMIT}`,
    request_headers: GITHUB_HEADERS(TOKEN),
    request_body: { state: GITHUB_STATE, context, ...about },
  }
}

export function gitlabStatus({ context = CONTEXT, project }: Preset, api: string): PresetRequests {
  const prefix = new URL(api).pathname.replaceAll(/^\/|\/$|'/g, '')
  const segment =
    project === undefined ? projectPath(prefix) : encodeURIComponent(project.replaceAll(/%2F/gi, '/'))
  return {
    target_url: `${api}/api/v4/projects/${segment}/statuses/${COMMIT}`,
    request_headers: [{ name: 'PRIVATE-TOKEN', value: TOKEN }],
    request_body: { state: GITLAB_STATE, name: context, ...about },
  }
}

export function giteaStatus({ context = CONTEXT }: Preset, api: string): PresetRequests {
  return {
    target_url: `${api}/api/v1/repos/${REPOSITORY}/statuses/${COMMIT}`,
    request_headers: [{ name: 'Authorization', value: `token ${TOKEN}` }],
    request_body: { state: GITHUB_STATE, context, ...about },
  }
}
