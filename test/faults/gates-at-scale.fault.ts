// Tens of thousands of runs that wait for approval: who reads them reads few, and their time runs out for all of them.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { findApprovable } from '#model/gates/approvable.ts'
import type { Database } from '#platform/database/connect.ts'
import { openApprovals } from '#test/support/approvals.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

const RUNS = 50_000

const world = await openApprovals({ after })
const { db, setApproval, approve, expire } = world

/** Runs that people can approve, as workers leave them. Returns the ids of the first and the last. */
async function storeAtGate(at: TestTree, count: number): Promise<{ first: number; last: number }> {
  const { rows } = await sql<{ first: number; last: number }>`
    with stored as (
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, gate)
      select environment_id, id, operation, 'waiting', 'WAITING_APPROVAL', 'manual', 'approval'
      from pipelines, generate_series(1, ${count}::int) where id = ${at.pipelineId} returning id
    ), planned as (
      insert into targets (action_id, position, server_id, status, status_reason_code, steps)
      select id, 1, ${at.serverIds[0]}, 'pending', 'PENDING', '[]' from stored
    ), asked as (
      insert into approval_requests (action_id, environment_id, pipeline_id, subject, stamp, shown, verified, asked_at,
        expires_at, due_at)
      select id, ${at.environmentId}, ${at.pipelineId}, 'subject', 'stamp', '{}', '{}', now(), now() + interval '1 day', null
      from stored
    )
    select min(id) as first, max(id) as last from stored`.execute(db)
  await sql`analyze`.execute(db)
  return rows[0]!
}

suite(`with ${RUNS} runs at the gate`, () => {
  test('those that wait for a person are the newest, and few are read to find them', async () => {
    const at = await createTestTree(db)
    assert.equal((await setApproval(at, { not_the_starter: false })).status, 200)
    const { last } = await storeAtGate(at, RUNS)
    const find = (trx: Database) => findApprovable(trx, at.owner, [at.environmentId], 101)
    const found = await find(db)
    assert.deepEqual(
      found,
      Array.from({ length: 101 }, (_, index) => last - index),
    )
    assert.ok((await rowsRead(find)) < 1_000)
  })

  test('all of them expire, few statements each, and another environment is not kept waiting', async () => {
    const [at, other] = [await createTestTree(db), await createTestTree(db)]
    for (const tree of [at, other]) assert.equal((await setApproval(tree, {})).status, 200)
    const { first, last } = await storeAtGate(at, RUNS)
    const few = await storeAtGate(other, 3)
    await sql`
      update approval_requests set expires_at = now() - interval '1 second'
      where action_id between ${first} and ${few.last - 1}`.execute(db)
    await expire()
    const ends = await sql<{ environmentId: number; reason: string; count: number; targets: number }>`
      select environment_id as "environmentId", status_reason_code as reason, count(*) as count,
        sum((select count(*) from targets t where t.action_id = actions.id and t.status = 'skipped'))::int as targets
      from actions where id between ${first} and ${few.last} group by 1, 2 order by 1, 2`.execute(db)
    assert.deepEqual(ends.rows, [
      { environmentId: at.environmentId, reason: 'SKIPPED_EXPIRED', count: RUNS, targets: RUNS },
      { environmentId: other.environmentId, reason: 'SKIPPED_EXPIRED', count: 2, targets: 2 },
      { environmentId: other.environmentId, reason: 'WAITING_APPROVAL', count: 1, targets: 0 },
    ])
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from events where action_id between ${first} and ${last}
        and status_reason_code = 'SKIPPED_EXPIRED'`.execute(db)
    assert.equal(rows[0]!.count, RUNS)
    assert.equal((await approve(first, at.owner)).status, 409)
  })

  /** Rows of actions and requests that some work reads, with the plan that is good for any values. */
  function rowsRead(work: (trx: Database) => Promise<unknown>): Promise<number> {
    return db.transaction().execute(async (trx) => {
      await sql`set local plan_cache_mode = force_generic_plan`.execute(trx)
      const count = async () => {
        const { rows } = await sql<{ read: number }>`
          select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as read from pg_stat_xact_user_tables
          where relname in ('actions', 'approval_requests')`.execute(trx)
        return Number(rows[0]!.read)
      }
      const before = await count()
      await work(trx)
      return (await count()) - before
    })
  }
})
