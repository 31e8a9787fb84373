import { sql } from 'kysely'
import { isEnd } from '#model/actions/status.ts'
import { freezesThatHold, type OverriddenFreeze } from '#model/gates/decide-gate.ts'
import {
  type Freeze,
  type FreezeInForce,
  freezesOf,
  inForce,
  OVERRIDDEN_FREEZES,
} from '#model/gates/load-freezes.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import { GATES, type Gate } from '#platform/vocabulary.ts'
import { readApprovalGate } from './read-approval.ts'
import { readChecksGate } from './read-checks.ts'
import type { ActionGates, GateRecord } from './schemas.ts'
import { notifyStale } from './stale-approvals.ts'

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
  overriddenFreezes: OverriddenFreeze[]
  overrides: FreezeOverride[]
}
type FreezeOverride = {
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
  if (approval?.details.is_preparing) await notifyStale(db, actionId)
  const checks = await readChecksGate(db, actionId)
  const gates = [
    ...(checks ? [checks] : []),
    ...(approval ? [approval] : []),
    await readFreezeGate(db, found),
  ]
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
      ${OVERRIDDEN_FREEZES} as "overriddenFreezes",
      coalesce((select json_agg(json_build_object('reason', o.reason,
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

/** The gates that would hold a run if it were started now, also those that it would be started with an override of. */
export async function planGates(
  db: Database,
  environmentId: number,
  run: { isRollback: boolean; needsChecks: boolean; needsApproval: boolean; overrides: readonly Gate[] },
): Promise<GateRecord[]> {
  const stateOf = (gate: Gate) => (run.overrides.includes(gate) ? 'overridden' : 'closed')
  const asked = [run.needsChecks ? ('checks' as const) : [], run.needsApproval ? ('approval' as const) : []]
    .flat()
    .map(
      (gate): GateRecord => ({
        ...{ gate, gate_human_readable: GATES[gate], state: stateOf(gate) },
        ...{ since: null, until: null, details: {} },
      }),
    )
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
  return [...asked, { ...gate, state: stateOf('freeze'), since, until: untilOf(holding), details }]
}

async function readFreezeGate(db: Database, row: Row): Promise<GateRecord> {
  const active = isEnd(row.status) ? [] : inForce(row.freezes, row.now)
  const holding = freezesThatHold({ ...row, freezes: active })
  const gate = { gate: 'freeze' as const, gate_human_readable: GATES.freeze }
  const overrides = row.overrides.map((override) => ({ ...override, created_at: iso(override.created_at) }))
  const details = { freezes: await describeFreezes(db, holding), overrides }
  if (holding.length > 0) {
    const isHeld = row.reason === 'WAITING_FREEZE'
    const since = isHeld ? row.heldAt : latest([row.createdAt, earliest(holding.map(beginOf))])
    return { ...gate, state: 'closed', since, until: untilOf(holding), details }
  }
  const last = overrides.at(-1)?.created_at
  if (last === undefined || wasHeldSince(row, last, active))
    return { ...gate, state: 'open', since: row.leftAt, until: null, details }
  return { ...gate, state: 'overridden', since: last, until: null, details }
}

/** A later freeze held it again, and is over: the override did not let it through that one. */
function wasHeldSince({ heldAt, startedAt }: Row, override: string, active: readonly object[]): boolean {
  const isStillOverridden = startedAt === null && active.length > 0
  return heldAt !== null && Date.parse(heldAt) > Date.parse(override) && !isStillOverridden
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
