import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '#platform/database/connect.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createTestTree } from '#test/support/world.ts'
import { createScheduler } from './schedule-new.ts'

const { settings, drop } = await createTestDatabase()
after(drop)
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(close)
const schedule = createScheduler(db, async () => {})

/** More than one pass takes. */
const MANY = 1_200

test('a job ends when its own actions are scheduled, however many others are new', async () => {
  const tree = await createTestTree(db)
  await db.updateTable('pipelines').set({ max_parallel_actions: 0 }).execute()
  const { rows: actions } = await sql<{ id: number }>`
    with started as (
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type)
      select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', 'queued', 'QUEUED', 'manual'
      from generate_series(1, ${MANY}::int) returning id
    ), planned as (
      insert into targets (action_id, position, server_id, status, status_reason_code, steps)
      select id, 1, ${tree.serverIds[0]!}::bigint, 'pending', 'PENDING', '[]' from started
    )
    select id from started order by id`.execute(db)
  const ids = actions.map(({ id }) => id)

  await schedule(ids.slice(0, 10))
  assert.ok((await unplaced()) > 0, 'the others wait for another pass')
  await Promise.all([schedule(ids.slice(10, 20)), schedule(ids.slice(-1))])
  assert.equal(await unplaced(), 0)
})

test('a pass reads as much with many waiting actions as with none', async () => {
  const alone = openDatabase(settings, { max: 1, onIdleError: () => {} })
  try {
    const tree = await createTestTree(db)
    await sql`update pipelines set max_parallel_actions = 1 where id = ${tree.pipelineId}`.execute(db)
    const [running, first] = [await insert(tree, 'queued', 1), await insert(tree, 'queued', 1)]
    await sql`update actions set has_place = true where id = ${running[0]!}`.execute(db)
    const few = await entriesRead(alone.db, first)
    await insert(tree, 'waiting', 5_000)
    const [last] = await insert(tree, 'queued', 1)
    const many = await entriesRead(alone.db, [last!])
    assert.ok(many < few + 50, `${many} index entries with 5,000 waiting, ${few} with none`)
  } finally {
    await alone.close()
  }
})

/** How many index entries of actions a job for these reads. */
async function entriesRead(one: typeof db, actionIds: number[]): Promise<number> {
  const read = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(one)
    const { rows } = await sql<{ read: number }>`
      select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname = 'actions'`.execute(one)
    return rows[0]!.read
  }
  const before = await read()
  await createScheduler(one, async () => {})(actionIds)
  return (await read()) - before
}

async function insert(
  { environmentId, pipelineId }: { environmentId: number; pipelineId: number },
  status: 'queued' | 'waiting',
  count: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type)
    select ${environmentId}, ${pipelineId}, 'deploy', ${status},
      ${status === 'queued' ? 'QUEUED' : 'WAITING_CONCURRENCY_PIPELINE'}, 'manual'
    from generate_series(1, ${count}::int) returning id`.execute(db)
  return rows.map(({ id }) => id)
}

async function unplaced(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from actions where status = 'queued' and not has_place`.execute(db)
  return rows[0]!.count
}
