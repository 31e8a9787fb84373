// Actions that begin, go on and end in waves, without anything being run. A wave goes on where it was when the
// database went away, also when nobody knows whether the last commit came through.
import { sql } from 'kysely'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { startActions } from '#model/actions/start-actions.ts'
import type { State } from '#model/actions/status.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { Status } from '#platform/database/tables.ts'
import { until } from '#test/support/until.ts'

const WAVE = 50
const AWAY_MS = 60_000

export const QUEUED: State = { status: 'queued', reason: 'QUEUED' }
export const IN_PROGRESS: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
export const ENDS = {
  completed: { status: 'completed', reason: 'COMPLETED' },
  failed: { status: 'failed', reason: 'FAILED' },
  skipped: { status: 'skipped', reason: 'SKIPPED' },
} satisfies Record<string, State>

export type Scope = { environmentId: number; pipelineId: number }

/** Moves `count` actions from their start to their end; resolves with how each one ended. */
export async function moveActions(
  db: Database,
  scope: Scope,
  { count, keepPace }: { count: number; keepPace: () => Promise<void> },
): Promise<Map<number, Status>> {
  const waves: number[][] = []
  const beginAndGoOn = (id: number) => (endOf(id) === 'skipped' ? [ENDS.skipped] : [QUEUED, IN_PROGRESS])
  const end = (id: number) => [ENDS[endOf(id)]]
  // Each wave stands one behind the one before it, so at any time some begin while others end.
  for (let number = 0; number < count / WAVE + 2; number += 1) {
    await keepPace()
    if (number < count / WAVE) waves.push(await persist(() => startWave(db, scope, number)))
    await persist(() => moveWave(db, scope, waves[number - 1] ?? [], 'pending', beginAndGoOn))
    await persist(() => moveWave(db, scope, waves[number - 2] ?? [], 'in-progress', end))
  }
  return new Map(waves.flat().map((id) => [id, endOf(id)]))
}

function endOf(id: number): keyof typeof ENDS {
  if (id % 25 === 0) return 'skipped'
  return id % 10 === 9 ? 'failed' : 'completed'
}

function startWave(db: Database, scope: Scope, number: number): Promise<number[]> {
  return db.transaction().execute(async (trx) => {
    const mark = `wave ${number}`
    const known = await findWave(trx, mark)
    return known.length > 0 ? known : startPending(trx, scope, { count: WAVE, mark })
  })
}

/** They begin pending: what is queued and stays so would be run by the worker. */
export function startPending(
  trx: Transaction,
  scope: Scope,
  { count, mark, variables = {} }: { count: number; mark: string; variables?: Record<string, unknown> },
): Promise<number[]> {
  const start = {
    plan: 0,
    environment_id: scope.environmentId,
    pipeline_id: scope.pipelineId,
    type: 'deploy',
    status: 'pending',
    status_reason_code: 'PENDING',
    trigger_type: 'manual' as const,
    trigger_comment: mark,
    origin: null,
    trigger_name: 'somebody',
    trigger_email: null,
    ip_address: null,
    triggered_by: null,
    hook_id: null,
    hook_request_id: null,
    hook_parsed_variables: variables,
    variables: null,
    deployment: null,
    commit: null,
    release_name: null,
    credential_id: null,
    retry_of: null,
    parent_id: null,
  }
  return startActions(trx, Array(count).fill(start), [])
}

async function findWave(trx: Transaction, mark: string): Promise<number[]> {
  const rows = await trx.selectFrom('actions').select('id').where('trigger_comment', '=', mark).execute()
  return rows.map(({ id }) => id)
}

/** Those that are in another status than `from` stay as they are. */
export function moveWave(
  db: Database,
  scope: Scope,
  ids: number[],
  from: Status,
  states: (id: number) => State[],
): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const round = await openSchedulingPass(trx, scope.environmentId)
    for (const action of await round.load(ids)) {
      if (action.status !== from) continue
      for (const state of states(action.id)) round.moveAction(action, state)
    }
    await round.flush()
  })
}

/** Tries until the database is there. */
export async function persist<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = await until('the database is there again', AWAY_MS, async () => {
    try {
      return { result: await work() }
    } catch (error) {
      if (!isOutage(error)) throw error
      return false
    }
  })
  return done.result
}

/**
 * Shortens the waiting for later attempts by moving the clock for what waits; the first pause stays as it is, and so
 * does every lease.
 */
export async function shortenPauses(db: Database): Promise<void> {
  await sql`update deliveries set due_at = now() where state = 'pending' and leased_until is null
    and due_at > now() + interval '7 seconds'`.execute(db)
  await sql`update hook_health set open_until = now() where open_until > now() + interval '7 seconds'`.execute(
    db,
  )
}
