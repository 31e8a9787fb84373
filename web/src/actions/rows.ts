// The rows of the list, and how moves change them. An action is 20 kB of JSON, of which a row shows a dozen words:
// only these are kept, and a row that did not change stays the same object, so that it is not drawn again. Pure.
import type { ActionListItem, ActionMove } from '../api-types.ts'
import { hasEnded, type Status } from '../words/statuses.ts'
import { type Filtered, type Filters, matches } from './filters.ts'

export type Row = {
  id: number
  status: Status
  reason: string
  type: string
  resource: string
  environment: string
  project: string
  trigger: string
  who: string
  startedAt: string | null
  completedAt: string | null
  createdAt: string
}

export type Rows = { rows: Row[]; total: string }

export function toRow(action: ActionListItem): Row {
  const from = action.triggered_from
  return {
    id: action.id,
    status: action.status,
    reason: action.status_reason_human_readable,
    type: action.type_human_readable,
    resource: action.resource.data?.name ?? `#${action.resource.id}`,
    environment: action.environment.name,
    project: action.project.name,
    trigger: from.trigger_type,
    who: from.name ?? from.email ?? '',
    startedAt: action.started_at,
    completedAt: action.completed_at,
    createdAt: action.created_at,
  }
}

/** Rows that say the same stay the objects they were. */
export function keepSame(before: Row[] | undefined, after: Row[]): Row[] {
  if (!before) return after
  const known = new Map(before.map((row) => [row.id, row]))
  return after.map((row) => {
    const old = known.get(row.id)
    return old && isSame(old, row) ? old : row
  })
}

function isSame(one: Row, other: Row): boolean {
  return (Object.keys(one) as (keyof Row)[]).every((key) => one[key] === other[key])
}

/** `strangers` are ids of actions that began and are not in the list: they may belong there. */
export function applyMoves(rows: Row[], moves: ActionMove[]): { rows: Row[]; strangers: number[] } {
  const latest = new Map<number, ActionMove[]>()
  for (const move of moves) latest.set(move.action_id, [...(latest.get(move.action_id) ?? []), move])
  const listed = new Set(rows.map((row) => row.id))
  return {
    rows: rows.map((row) => (latest.get(row.id) ?? []).reduce(applyMove, row)),
    strangers: [...latest.keys()].filter((id) => !listed.has(id)),
  }
}

function applyMove(row: Row, move: ActionMove): Row {
  const after = {
    ...row,
    status: move.status,
    reason: move.status_reason_human_readable,
    startedAt: row.startedAt ?? (move.status === 'in-progress' ? move.occurred_at : null),
    completedAt: hasEnded(move.status) ? move.occurred_at : row.completedAt,
  }
  return isSame(row, after) ? row : after
}

/** Puts actions that were read one by one where they belong on the first page. */
export function insert(rows: Row[], found: { row: Row; filtered: Filtered }[], filters: Filters): Row[] {
  const fitting = found.filter(({ filtered }) => matches(filters, filtered)).map(({ row }) => row)
  if (fitting.length === 0) return rows
  const ids = new Set(fitting.map((row) => row.id))
  return [...fitting, ...rows.filter((row) => !ids.has(row.id))]
    .sort((one, other) => other.id - one.id)
    .slice(0, filters.perPage)
}
