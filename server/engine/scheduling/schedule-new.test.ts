import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '#platform/database/connect.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
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
  const ids = await insert(tree, 'queued', MANY, 'pending')

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

for (const knowledge of ['without', 'with'] as const)
  test(`a pass reads as much with many runs at a gate as with none, ${knowledge} statistics`, async () => {
    const alone = openDatabase(settings, { max: 1, onIdleError: () => {} })
    try {
      const tree = await createTestTree(db)
      await sql`update pipelines set max_parallel_actions = 1 where id = ${tree.pipelineId}`.execute(db)
      const few = await entriesRead(alone.db, await insert(tree, 'queued', 1, 'pending'))
      await sql`update actions set has_place = false, status = 'failed', status_reason_code = 'FAILED',
        completed_at = now() where pipeline_id = ${tree.pipelineId}`.execute(db)
      await sql`
        insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, gate)
        select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', 'waiting', 'WAITING_FREEZE', 'manual', 'freeze'
        from generate_series(1, 5000)`.execute(db)
      if (knowledge === 'with') await sql`analyze actions, targets`.execute(db)
      const many = await entriesRead(alone.db, await insert(tree, 'queued', 1, 'pending'))
      assert.ok(many < few + 50, `${many} index entries with 5,000 at a gate, ${few} with none`)
    } finally {
      await alone.close()
    }
  })

for (const knowledge of ['without', 'with'] as const)
  test(`a pass reads as much with many runs that have their slots as with none, ${knowledge} statistics`, async () => {
    const alone = openDatabase(settings, { max: 1, onIdleError: () => {} })
    try {
      const tree = await createTestTree(db)
      await db.updateTable('pipelines').set({ max_parallel_actions: 0 }).execute()
      await db.updateTable('servers').set({ max_parallel_actions: 0 }).execute()
      const few = await entriesRead(alone.db, await insert(tree, 'queued', 1, 'pending'))
      await insert(tree, 'queued', 5_000, 'queued')
      if (knowledge === 'with') await sql`analyze actions, targets`.execute(db)
      const many = await entriesRead(alone.db, await insert(tree, 'queued', 1, 'pending'))
      assert.ok(many < few + 50, `${many} index entries with 5,000 that have slots, ${few} with none`)
    } finally {
      await alone.close()
    }
  })

/** How many index entries of actions and targets a job for these reads. */
async function entriesRead(one: typeof db, actionIds: number[]): Promise<number> {
  const read = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(one)
    const { rows } = await sql<{ read: number }>`
      select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname in ('actions', 'targets')`.execute(
      one,
    )
    return rows[0]!.read
  }
  const before = await read()
  await createScheduler(one, async () => {})(actionIds)
  return (await read()) - before
}

async function insert(
  { environmentId, pipelineId, serverIds }: TestTree,
  status: 'queued' | 'waiting',
  count: number,
  target?: 'pending' | 'queued',
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with started as (
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, has_place)
      select ${environmentId}, ${pipelineId}, 'deploy', ${status},
        ${status === 'queued' ? 'QUEUED' : 'WAITING_CONCURRENCY_PIPELINE'}, 'manual', ${target === 'queued'}
      from generate_series(1, ${count}::int) returning id
    ), planned as (
      insert into targets (action_id, position, server_id, status, status_reason_code, steps)
      select id, 1, ${serverIds[0]!}::bigint, ${target}, upper(${target}), '[]' from started
      where ${target}::text is not null
    )
    select id from started order by id`.execute(db)
  return rows.map(({ id }) => id)
}

async function unplaced(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from actions where status = 'queued' and not has_place`.execute(db)
  return rows[0]!.count
}
