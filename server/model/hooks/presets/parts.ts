// What the requests of presets, and of the catalog, are written with.

/** The commit that the caller named, or the one that is deployed; empty until either is known. */
export const COMMIT =
  '{{ action.triggered_from.hook_parsed_variables.commit | default: action.action_data.commit.hash }}'
export const REPOSITORY = '{{ application.repository_owner }}/{{ application.repository_name }}'
/** Services take at most 255 characters, and names may be as long. */
export const CONTEXT = 'gantry/{{ environment.name | truncate: 120 }}/{{ pipeline.name | truncate: 120 }}'
export const LINK = '{{ action.url_web_permalink }}'
export const REASON = '{{ action.status_reason_human_readable }}'

/** Each happens at most once per action, so a receiver never gets the same status twice. */
export const EACH_STATUS_ONCE = [
  'action.created',
  'action.started',
  'action.completed',
  'action.failed',
  'action.skipped',
] as const

export const GITHUB_STATE =
  "{% case action.status %}{% when 'completed' %}success{% when 'failed' %}{% if action.status_reason_code == 'FAILED' %}failure{% else %}error{% endif %}{% when 'skipped' %}error{% else %}pending{% endcase %}"
export const GITLAB_STATE =
  "{% case action.status %}{% when 'in-progress' %}running{% when 'completed' %}success{% when 'failed' %}{% if action.status_reason_code == 'FAILED_CANCELLED' %}canceled{% else %}failed{% endif %}{% when 'skipped' %}canceled{% else %}pending{% endcase %}"
export const DEPLOYMENT_STATE =
  "{% case action.status %}{% when 'in-progress' %}in_progress{% when 'completed' %}success{% when 'failed' %}{% if action.status_reason_code == 'FAILED' %}failure{% else %}error{% endif %}{% when 'skipped' %}inactive{% else %}queued{% endcase %}"

export const GITHUB_HEADERS = (token: string) => [
  { name: 'Authorization', value: `Bearer ${token}` },
  { name: 'Accept', value: 'application/vnd.github+json' },
  { name: 'X-GitHub-Api-Version', value: '2022-11-28' },
]
