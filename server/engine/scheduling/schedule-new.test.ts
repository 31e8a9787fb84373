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

async function unplaced(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from actions where status = 'queued' and not has_place`.execute(db)
  return rows[0]!.count
}
