import { COMMIT, DEPLOYMENT_STATE, GITHUB_HEADERS, LINK, REASON, REPOSITORY } from './parts.ts'
import type { PresetRequests } from './requests.ts'
import type { Preset } from './schema.ts'

/** The answer to a status has an `id`, too, of the status; `statuses_url` is only in that to the deployment. */
const DEPLOYMENT_ID = "{{ captured.statuses_url | replace: '/statuses', '' | split: '/' | last }}"

/**
 * A deployment starts without a status, so its first one follows right away: also a run whose final status is the first
 * that arrives ends with that status.
 */
export function githubDeployment(preset: Preset, api: string): PresetRequests {
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
          description: REASON,
          ...(environment_url !== undefined && { environment_url }),
          auto_inactive,
        },
      },
    },
  }
}
