import { sql } from 'kysely'
import { claimDeliveries } from '#engine/outgoing/claim-deliveries.ts'
import { recordEvents } from '#model/events/fan-out.ts'
import type { Database } from '#platform/database/connect.ts'
import { createHook, createTestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import { runStatement, type Workbench } from './workbench.ts'

const SIZES = { full: { waiting: 50_000, claims: 60 }, smoke: { waiting: 500, claims: 2 } }
const BATCH = 64

class Undone extends Error {}

/** Claiming a batch of due deliveries while many others of the same hook wait, and while none does. */
export const claim: Bench = async (workbench, size) => {
  const { waiting, claims } = SIZES[size]
  const [none, due, blocked] = [
    await openWorld(workbench, waiting, async () => {}),
    // They were all due at the same moment, as after an outage of the receiver.
    await openWorld(workbench, waiting, (db, hookId) => storeDue(db, hookId, waiting)),
    // The first of each action is retried later, and the next one, stored by the service, waits for it.
    await openWorld(workbench, waiting, (db, hookId) => storeBlocked(db, hookId, waiting)),
  ]
  const times = await alternate(size === 'smoke' ? 1 : ROUNDS, {
    none: () => none(claims),
    due: () => due(claims),
    blocked: () => blocked(claims),
  })
  const figure = (name: 'due' | 'blocked') => ({
    name: `claim-${name}`,
    value: median(times[name]),
    unit: 'ms',
    ratio: medianRatio(times[name], times.none),
    floor: 'none-waiting',
    goal: { of: 'ratio' as const, is: 'at most' as const, limit: 1.5 },
    details: times,
  })
  return [figure('due'), figure('blocked')]
}

/** A batch that is due, and as many other actions whether their deliveries wait or not. */
async function openWorld(
  workbench: Workbench,
  others: number,
  fill: (db: Database, hookId: string) => Promise<void>,
) {
  const { db, settings } = await workbench.createDatabase('claim')
  const tree = await createTestTree(db)
  const hookId = await createHook(db, tree, 'outgoing', {
    active: true,
    trigger_when: JSON.stringify({ events: ['action.status_changed'] }),
  })
  await sql`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, started_at)
    select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', 'in-progress', 'IN_PROGRESS', 'manual', now()
    from generate_series(1, ${BATCH}::int)`.execute(db)
  await storeDeliveries(db, hookId, sql`select id from actions`, sql`now() - interval '1 hour'`)
  await sql`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, started_at)
    select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', 'in-progress', 'IN_PROGRESS', 'manual', now()
    from generate_series(1, ${others}::int)`.execute(db)
  await fill(db, hookId)
  await runStatement(settings, 'vacuum analyze', 'checkpoint')
  const capacity = new Map([[hookId, BATCH]])
  return async (claims: number) => {
    const times: number[] = []
    for (let number = 0; number < claims; number += 1) {
      await db
        .transaction()
        .execute(async (trx) => {
          const begin = performance.now()
          const claimed = await claimDeliveries(trx, capacity)
          times.push(performance.now() - begin)
          if (claimed.length !== BATCH) throw new Error(`${claimed.length} deliveries were claimed`)
          throw new Undone()
        })
        .catch((error) => {
          if (!(error instanceof Undone)) throw error
        })
    }
    return median(times)
  }
}

const newest = (count: number) => sql`select id from actions order by id desc limit ${count}::int`

async function storeDue(db: Database, hookId: string, waiting: number): Promise<void> {
  await storeDeliveries(db, hookId, newest(waiting), sql`now() - interval '1 minute'`)
}

async function storeBlocked(db: Database, hookId: string, waiting: number): Promise<void> {
  await storeDeliveries(db, hookId, newest(waiting), sql`now() + interval '1 hour'`, 1)
  const { rows } = await sql<{ id: number; pipeline_id: number }>`
    select id, pipeline_id from actions order by id desc limit ${waiting}::int`.execute(db)
  const [previous_status, status, status_reason_code] = ['in-progress', 'pending', 'PENDING'] as const
  const events = rows.map(({ id: action_id, pipeline_id }) => ({
    action_id,
    pipeline_id,
    previous_status,
    status,
    status_reason_code,
    is_final: false,
  }))
  await db.transaction().execute((trx) => recordEvents(trx, new Date().toISOString(), events))
  const { rows: stored } = await sql<{ count: number }>`
    select count(*)::int from deliveries where hook_id = ${hookId} and attempts = 0`.execute(db)
  if (stored[0]!.count !== BATCH + waiting) throw new Error(`${stored[0]!.count} deliveries were stored`)
}

/** An event of each of these actions, and its delivery. */
async function storeDeliveries(
  db: Database,
  hookId: string,
  actions: ReturnType<typeof sql>,
  dueAt: ReturnType<typeof sql>,
  attempts = 0,
): Promise<void> {
  await sql`
    with happened as (
      insert into events (action_id, previous_status, status, status_reason_code)
      select id, 'queued', 'in-progress', 'IN_PROGRESS' from (${actions}) as chosen order by id
      returning id, action_id
    )
    insert into deliveries (hook_id, event_id, action_id, is_final, due_at, attempts)
    select ${hookId}::uuid, id, action_id, false, ${dueAt}, ${attempts} from happened order by id`.execute(db)
}
