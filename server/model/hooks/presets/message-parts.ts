// What a message about a run says: who, what, for how long, and where to look. Texts of others are plain.

export const HEADLINE =
  "{% case action.status %}{% when 'completed' %}✅{% when 'failed' %}❌{% when 'skipped' %}⏭️{% when 'in-progress' %}⏳{% else %}🕒{% endcase %} {{ application.name | default: pipeline.name }}, {{ environment.name }}: {{ action.status_reason_human_readable }}"
export const PIPELINE = '{{ pipeline.name }}'
export const STARTED_BY = '{{ action.triggered_from.name | default: action.triggered_from.trigger_type }}'

const HASH =
  '{{ action.action_data.commit.hash | default: action.triggered_from.hook_parsed_variables.commit | slice: 0, 10 }}'
export const COMMIT_LINE = `{% if action.action_data.commit.hash or action.triggered_from.hook_parsed_variables.commit %}${HASH} {{ action.action_data.commit.message | truncate: 200 }}{% else %}–{% endif %}`

export const DURATION =
  "{% if action.started_at and action.completed_at %}{% assign started = action.started_at | date: '%s' %}{% assign seconds = action.completed_at | date: '%s' | minus: started %}{% assign minutes = seconds | divided_by: 60 | floor %}{% if minutes > 0 %}{{ minutes }} min {% endif %}{{ seconds | modulo: 60 }} s{% else %}–{% endif %}"

/** One of these values by status. */
export function byStatus(values: Record<'completed' | 'failed' | 'started' | 'otherwise', string>): string {
  const { completed, failed, started, otherwise } = values
  return `{% case action.status %}{% when 'completed' %}${completed}{% when 'failed' %}${failed}{% when 'in-progress' %}${started}{% else %}${otherwise}{% endcase %}`
}
