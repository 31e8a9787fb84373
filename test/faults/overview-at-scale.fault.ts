// The overview with many actions: its days stay exact, and it reads few rows.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import { countEndedRuns, readRunDays } from '#engine/counts/run-days.ts'
import type { Database } from '#platform/database/connect.ts'
import { openOverview } from '#test/support/overview.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'
import { findAttention } from '#views/dashboard/find-attention.ts'
import { findCardRuns } from '#views/dashboard/find-cards.ts'
import { findFailures, findRunning, findWaiting } from '#views/dashboard/find-runs.ts'
import { readStandings } from '#views/dashboard/order-applications.ts'

const { db, request, statements, overviewOf } = await openOverview({ after })

suite('with fifty thousand actions', () => {
  const ACTIONS = 50_000
  let busy: TestTree
  let small: TestTree
  const expected: { ids: number[]; naive: Awaited<ReturnType<typeof naiveDays>> }[] = []

  before(async () => {
    busy = await createTestTree(db)
    small = await createTestTree(db)
    // Over forty days up to now; one in fifty belongs to the small tree.
    await sql`
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type,
        started_at, completed_at, created_at)
      select case when is_small then ${small.environmentId}::bigint else ${busy.environmentId}::bigint end,
        case when is_small then ${small.pipelineId}::bigint else ${busy.pipelineId}::bigint end, 'deploy', status,
        case status when 'completed' then 'COMPLETED' when 'failed' then 'FAILED' else 'SKIPPED' end, 'manual',
        case when status <> 'skipped' then moment - (number % 97 + 1) * interval '1 second' end, moment, moment
      from generate_series(1, ${ACTIONS}::int) as number, lateral (
        select number % 50 = 0 as is_small,
          case when number % 13 = 0 then 'failed' when number % 17 = 0 then 'skipped' else 'completed' end as status,
          now() - (${ACTIONS}::int - number) * interval '40 days' / ${ACTIONS}::int as moment) as chosen`.execute(
      db,
    )
    await sql`analyze`.execute(db)
    const [one, other] = [busy.environmentId, small.environmentId]
    for (const ids of [[one], [other], [one, other]]) expected.push({ ids, naive: await naiveDays(ids) })
  })

  /** Straight from the actions, with an exact median. */
  async function naiveDays(environmentIds: number[]) {
    const { rows } = await sql<{
      date: string
      completed: number
      failed: number
      skipped: number
      median: number
    }>`
      select (completed_at at time zone 'UTC')::date::text as date,
        count(*) filter (where status = 'completed') as completed, count(*) filter (where status = 'failed') as failed,
        count(*) filter (where status = 'skipped') as skipped,
        percentile_disc(0.5) within group (order by extract(epoch from completed_at - started_at)::float8)
          filter (where status = 'completed') as median
      from actions where environment_id = any(${environmentIds}::bigint[]) and completed_at >= current_date - 29
      group by 1 order by 1`.execute(db)
    return rows
  }

  async function assertDaysAreExact(): Promise<void> {
    for (const { ids, naive } of expected) {
      const days = (await readRunDays(db, ids)).filter((day) => day.completed + day.failed + day.skipped > 0)
      assert.deepEqual(
        days.map(({ median_duration_seconds: _, ...day }) => day),
        naive.map(({ median: _, ...day }) => day),
      )
      for (const [index, { median }] of naive.entries())
        assert.ok(Math.abs(days[index]!.median_duration_seconds! / median - 1) < 0.016)
    }
  }

  test('the days are exact, whether none, some or all runs have been added up', async () => {
    await sql`update counted_runs set until = current_date - 30`.execute(db)
    await sql`delete from run_days`.execute(db)
    await assertDaysAreExact()
    for (const graceMinutes of [15 * 24 * 60 + 7, 11, 11, 0]) {
      await countEndedRuns(db, { graceMinutes })
      await assertDaysAreExact()
    }
  })

  test('concurrent jobs count nothing twice', async () => {
    await sql`update counted_runs set until = current_date - 30`.execute(db)
    await sql`delete from run_days`.execute(db)
    await Promise.all(Array.from({ length: 4 }, () => countEndedRuns(db, { graceMinutes: 0 })))
    await assertDaysAreExact()
  })

  test('old days are deleted when the date changes', async () => {
    await sql`
      insert into run_days values (${small.environmentId}, current_date - 90, 'failed', 0, 1)`.execute(db)
    await sql`update counted_runs set until = now() - interval '2 days'`.execute(db)
    await sql`delete from run_days where day >= (now() - interval '2 days')::date`.execute(db)
    await countEndedRuns(db, { graceMinutes: 0 })
    const { rows } = await sql`select from run_days where day < current_date - 60`.execute(db)
    assert.equal(rows.length, 0)
  })

  test('the overview takes the same few statements, and reads few rows', async () => {
    await countEndedRuns(db)
    await overviewOf(busy.owner)
    statements.length = 0
    await overviewOf(busy.owner)
    assert.ok(statements.length <= 13, statements.join('\n'))
    const environmentIds = [busy.environmentId, small.environmentId]
    assert.ok((await rowsRead((trx) => findRunning(trx, environmentIds))) < 200)
    assert.ok((await rowsRead((trx) => findWaiting(trx, environmentIds))) < 200)
    // Nothing is counted that has not failed within a day.
    assert.ok((await rowsRead((trx) => findFailures(trx, environmentIds))) < 200)
    assert.ok((await rowsRead((trx) => readRunDays(trx, environmentIds))) < 200)
    const [withActions, none] = [environmentIds, [] as number[]]
    const scopes = { withActions, withHooks: none, withLive: none, withServers: none }
    // The newest thousand.
    assert.ok((await rowsRead((trx) => findAttention(trx, scopes))) < 1_200)
  })

  test('the cards of applications take few statements, and read few rows', async () => {
    const { token } = busy.owner
    const read = async () =>
      assert.equal((await request('GET', '/overview/applications', { token })).status, 200)
    await read()
    statements.length = 0
    await read()
    assert.ok(statements.length <= 6, statements.join('\n'))
    const ids = [busy.applicationId, small.applicationId]
    const standings = {
      ids,
      seen: ids,
      withHooks: ids,
      environmentIds: [busy.environmentId, small.environmentId],
    }
    assert.ok((await rowsRead((trx) => readStandings(trx, standings))) < 1_200)
    assert.ok((await rowsRead((trx) => findCardRuns(trx, ids))) < 400)
  })

  /** Rows of actions that some work reads, with the plan that is good for any values: the one it gets in the end. */
  function rowsRead(work: (trx: Database) => Promise<unknown>): Promise<number> {
    return db.transaction().execute(async (trx) => {
      await sql`set local plan_cache_mode = force_generic_plan`.execute(trx)
      const count = async () => {
        const { rows } = await sql<{ read: number }>`
          select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables
          where relname = 'actions'`.execute(trx)
        return rows[0]!.read
      }
      const before = await count()
      await work(trx)
      return (await count()) - before
    })
  }
})
