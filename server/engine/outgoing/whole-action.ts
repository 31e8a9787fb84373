/** What can be told of an action from its own row; anything else needs its targets, relatives and resource. */
const FROM_THE_ROW = new Set(
  [
    'id',
    'status',
    'status_human_readable',
    'status_reason_code',
    'status_reason_human_readable',
    'type',
    'type_human_readable',
    'url_web_permalink',
    'trigger_comment',
    'action_data',
    'triggered_from',
    'pipeline_id',
    'retry_of',
    'started_at',
    'completed_at',
    'created_at',
    'updated_at',
  ].map((name) => `action.${name}`),
)

/** Whether templates and conditions that read these names need more than the action's own row. */
export function needsWholeAction(names: Iterable<string>): boolean {
  return [...names].some(
    (name) => name === '*' || name === 'action' || (name.startsWith('action.') && !FROM_THE_ROW.has(name)),
  )
}
