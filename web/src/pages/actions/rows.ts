// The rows of the list, and how events change them. An action is 20 kB of JSON, of which a row shows a dozen words:
// only these are stored, and an unchanged row stays the same object, so that it does not render again. Pure.
import { hasEnded } from '#client/index.ts'
import type { ActionListItem, ActionMove } from '#web/base/api/types.ts'
import { capitalized } from '#web/base/ui/field-errors.ts'
import { deployKind, triggerLabel } from '#web/base/ui/status.ts'
import { type Filterable, type Filters, gateOf, matches } from './filters.ts'

export type Row = ReturnType<typeof toRow>
export type Rows = { rows: Row[]; total: string; hasNext: boolean }

export function toRow(action: ActionListItem) {
  const from = action.triggered_from
  return {
    id: action.id,
    pipelineId: action.pipeline_id!,
    status: action.status,
    reason: action.status_reason_human_readable,
    gate: gateOf(action.status_reason_code),
    type: capitalized(deployKind(action) ?? action.type_human_readable),
    ...sourceOf(action),
    resource: action.resource.data?.name ?? `#${action.resource.id}`,
    environment: action.environment.name,
    project: action.project.name,
    trigger: triggerLabel(from.trigger_type, from.name ?? from.email),
    startedAt: action.started_at,
    completedAt: action.completed_at,
    createdAt: action.created_at,
  }
}

/** What a deploy deploys: `main`, and the first digits of the commit once it is known. */
function sourceOf({ action_data: { commit, deployment } }: Pick<ActionListItem, 'action_data'>) {
  const hash = commit?.hash?.slice(0, 8) ?? ''
  const ref = deployment?.source_ref ?? ''
  return {
    hash,
    // A commit that was asked for by its hash is shown once.
    ref: hash !== '' && ref.startsWith(hash) ? '' : ref,
    message: commit?.message?.split('\n')[0]?.slice(0, 200) ?? '',
  }
}

const GROUP_SIZE = 10

/**
 * Rows that browsers lay out, or skip, together. Ids decide: a new row changes the first group and the last one, and
 * moves none from one group to the next.
 */
export function groupRows(rows: Row[]): [group: number, rows: Row[]][] {
  return [...Map.groupBy(rows, ({ id }) => Math.floor(id / GROUP_SIZE))]
}

/** Equal rows stay the objects they were. */
export function reuseRows(before: Row[] | undefined, after: Row[]): Row[] {
  if (!before) return after
  const known = new Map(before.map((row) => [row.id, row]))
  return after.map((row) => {
    const old = known.get(row.id)
    return old && isEqual(old, row) ? old : row
  })
}

function isEqual(one: Row, other: Row): boolean {
  return (Object.keys(one) as (keyof Row)[]).every((key) => one[key] === other[key])
}

/** `unlisted` are ids of actions that are not in the list but may belong there. */
export function applyEvents(rows: Row[], events: ActionMove[]): { rows: Row[]; unlisted: number[] } {
  const byAction = Map.groupBy(events, (event) => event.action_id)
  const listed = new Set(rows.map((row) => row.id))
  return {
    rows: rows.map((row) => (byAction.get(row.id) ?? []).reduce(applyEvent, row)),
    unlisted: [...byAction.keys()].filter((id) => !listed.has(id)),
  }
}

function applyEvent(row: Row, event: ActionMove): Row {
  const after = {
    ...row,
    status: event.status,
    reason: event.status_reason_human_readable,
    gate: gateOf(event.status_reason_code),
    startedAt: row.startedAt ?? (event.status === 'in-progress' ? event.occurred_at : null),
    completedAt: hasEnded(event.status) ? event.occurred_at : row.completedAt,
  }
  return isEqual(row, after) ? row : after
}

/** Deploys that ended, and were listed before it was known which commit they deploy. */
export function withoutCommit(rows: Row[], events: ActionMove[]): number[] {
  const ended = new Set(events.filter(({ status }) => hasEnded(status)).map(({ action_id }) => action_id))
  return rows.filter(({ id, ref, hash }) => ended.has(id) && ref !== '' && hash === '').map(({ id }) => id)
}

/** Inserts actions that were read one by one into the first page. */
export function insert(rows: Row[], found: { row: Row; action: Filterable }[], filters: Filters): Row[] {
  const matching = found.filter(({ action }) => matches(filters, action)).map(({ row }) => row)
  if (matching.length === 0) return rows
  const ids = new Set(matching.map((row) => row.id))
  return [...matching, ...rows.filter((row) => !ids.has(row.id))]
    .sort((one, other) => other.id - one.id)
    .slice(0, filters.perPage)
}
