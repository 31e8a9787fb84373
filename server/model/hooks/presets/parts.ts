// What the requests of presets, and of the catalog, are written with.
import { VERSION } from '#platform/version.ts'
import { GATE_EVENTS } from '#platform/vocabulary.ts'

/** The commit that is deployed; until it is resolved, what the caller named if that is a full hash. */
export const COMMIT =
  '{{ action.action_data.commit.hash | default: action.triggered_from.hook_parsed_variables.commit | commit_hash }}'
export const REPOSITORY = '{{ application.repository_owner }}/{{ application.repository_name }}'
/** Services take at most 255 characters, and names may be as long. */
export const CONTEXT = 'gantry/{{ environment.name | truncate: 120 }}/{{ pipeline.name | truncate: 120 }}'
export const LINK = '{{ action.url_web_permalink }}'
export const REASON = '{{ action.status_reason_human_readable }}'

/** Where people are asked to approve a run, also how many have, and who is asked. */
export const REASON_AND_ASKED = `${REASON}{% if gates.approval.asked.size > 0 %} ({{ gates.approval.given }} of {{ gates.approval.required }}), asked: {{ gates.approval.asked | join: ', ' }}{% endif %}`
/** Services take 140 characters. */
export const DESCRIPTION = `{% capture reason %}${REASON_AND_ASKED}{% endcapture %}{{ reason | truncate: 140 }}`

/** Each happens at most once per action, so a receiver never gets the same status twice. */
export const EACH_STATUS_ONCE = [
  'action.created',
  'action.started',
  'action.completed',
  'action.failed',
  'action.skipped',
] as const

export const PRESET_EVENTS = [
  ...EACH_STATUS_ONCE,
  ...GATE_EVENTS.map((event) => `action.${event}` as const),
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

/** Discord requires this form, and may block other clients. */
export const discordAgent = (url: string) => `DiscordBot (${url}, ${VERSION})`

type Header = { name: string; value: string }
type Request = { target_url: string; request_headers: Header[]; request_body: Record<string, unknown> }
type Capture = { name: string; path: string; type: 'string' | 'integer' }

/** One request, or two with what is captured in between. */
export type PresetRequests =
  | Request
  | {
      capture: Capture[]
      requests: {
        create: Request
        update: Request & { method?: 'PATCH' }
        update_after_create?: boolean
      }
    }
