import { sql } from 'kysely'
import { isEnd } from '#model/actions/status.ts'
import { freezesThatHold } from '#model/gates/decide-gate.ts'
import { type Freeze, type FreezeInForce, freezesOf, inForce } from '#model/gates/load-freezes.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import { GATES } from '#platform/vocabulary.ts'
import { readApprovalGate } from './read-approval.ts'
import type { ActionGates, GateRecord } from './schemas.ts'

type Row = {
  status: Status
  reason: ReasonCode
  branch: string | null
  createdAt: string
  startedAt: string | null
  isRollback: boolean
  freezes: Freeze[]
  now: string
  /** When a freeze last held it, and when it last left. */
  heldAt: string | null
  leftAt: string | null
  overrides: FreezeOverride[]
}
type FreezeOverride = {
  freeze_ids: number[]
  reason: string
  user: { id: number; name: string }
  created_at: string
}

/** The gates of a run, as they are now. Undefined when there is no such run. */
export async function readGates(
  db: Database,
  actionId: number,
  viewer: { id: number },
): Promise<ActionGates | undefined> {
  const found = await findRun(db, actionId)
  if (!found) return undefined
  const approval = await readApprovalGate(db, actionId, viewer.id)
  const gates = [...(approval ? [approval] : []), await readFreezeGate(db, found)]
  return { action_id: actionId, branch: found.branch, gates }
}

async function findRun(db: Database, actionId: number): Promise<Row | undefined> {
  const located = await db
    .selectFrom('actions')
    .select('environment_id')
    .where('id', '=', actionId)
    .executeTakeFirst()
  if (!located) return undefined
  const { rows } = await sql<Row>`
    select a.status, a.status_reason_code as reason, a.branch, a.created_at as "createdAt", a.started_at as "startedAt",
      coalesce(a.deployment ->> 'type' = 'rollback', false) as "isRollback",
      ${freezesOf(located.environment_id)} as freezes, clock_timestamp()::timestamptz(3) as now,
      held.occurred_at as "heldAt", (
        select min(e.occurred_at) from events e where e.action_id = a.id and e.id > held.id) as "leftAt",
      coalesce((select json_agg(json_build_object('freeze_ids', o.freeze_ids, 'reason', o.reason,
          'user', json_build_object('id', u.id, 'name', u.name), 'created_at', o.created_at) order by o.id)
        from gate_overrides o join users u on u.id = o.user_id
        where o.action_id = a.id and o.gate = 'freeze'), '[]') as overrides
    from actions a
    left join lateral (
      select id, occurred_at from events where action_id = a.id and status_reason_code = 'WAITING_FREEZE'
      order by id desc limit 1
    ) as held on true
    where a.id = ${actionId}`.execute(db)
  return rows[0]
}

/** The gates that would hold a run if it were started now. */
export async function planGates(
  db: Database,
  environmentId: number,
  run: { isRollback: boolean; needsApproval: boolean },
): Promise<GateRecord[]> {
  const approval = { gate: 'approval' as const, gate_human_readable: GATES.approval }
  const asked: GateRecord[] = run.needsApproval
    ? [{ ...approval, state: 'closed', since: null, until: null, details: {} }]
    : []
  const { rows } = await sql<{ freezes: Freeze[]; now: string }>`
    select ${freezesOf(environmentId)} as freezes, clock_timestamp()::timestamptz(3) as now`.execute(db)
  const { freezes, now } = rows[0]!
  const holding = freezesThatHold({
    ...{ isRollback: run.isRollback, startedAt: null, overriddenFreezes: [] },
    freezes: inForce(freezes, now),
  })
  if (holding.length === 0) return asked
  const details = { freezes: await describeFreezes(db, holding), overrides: [] }
  const since = earliest(holding.map(beginOf))
  const gate = { gate: 'freeze' as const, gate_human_readable: GATES.freeze }
  return [...asked, { ...gate, state: 'closed', since, until: untilOf(holding), details }]
}

async function readFreezeGate(db: Database, row: Row): Promise<GateRecord> {
  const overriddenFreezes = row.overrides.flatMap(({ freeze_ids }) => freeze_ids)
  const active = isEnd(row.status) ? [] : inForce(row.freezes, row.now)
  const holding = freezesThatHold({ ...row, overriddenFreezes, freezes: active })
  const gate = { gate: 'freeze' as const, gate_human_readable: GATES.freeze }
  const overrides = row.overrides.map(({ freeze_ids, created_at, ...override }) => ({
    ...override,
    created_at: iso(created_at),
  }))
  const details = { freezes: await describeFreezes(db, holding), overrides }
  if (holding.length > 0) {
    const isHeld = row.reason === 'WAITING_FREEZE'
    const since = isHeld ? row.heldAt : latest([row.createdAt, earliest(holding.map(beginOf))])
    return { ...gate, state: 'closed', since, until: untilOf(holding), details }
  }
  const wasOverridden = overriddenFreezes.length > 0
  const state = wasOverridden ? 'overridden' : 'open'
  const since = wasOverridden ? (overrides.at(-1)?.created_at ?? null) : row.leftAt
  return { ...gate, state, since, until: null, details }
}

async function describeFreezes(db: Database, holding: readonly FreezeInForce[]): Promise<object[]> {
  if (holding.length === 0) return []
  const ids = holding.map(({ id }) => id)
  const rows = await db
    .selectFrom('freezes')
    .select(['id', 'name', 'reason', 'environment_id'])
    .where('id', 'in', ids)
    .orderBy('id')
    .execute()
  const windows = new Map(holding.map(({ id, window }) => [id, window]))
  return rows.map((freeze) => {
    const until = windows.get(freeze.id)!.until
    return { ...freeze, until: until === null ? null : new Date(until).toISOString() }
  })
}

const beginOf = ({ window }: FreezeInForce) => new Date(window.from).toISOString()
const iso = (time: string) => new Date(time).toISOString()
const earliest = (times: readonly string[]) => times.toSorted()[0]!
const latest = (times: readonly string[]) => times.map(iso).toSorted().at(-1)!

/** When the last of them ends; null when one has no end. */
function untilOf(holding: readonly FreezeInForce[]): string | null {
  const ends = holding.map(({ window }) => window.until)
  return ends.includes(null) ? null : new Date(Math.max(...(ends as number[]))).toISOString()
}
