// What is removed because of its age, what is kept all the same, and that lists and statistics stay correct.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { type Insertable, sql } from 'kysely'
import { BLOCK, countClosedBlocks, jumpToOffset } from '#engine/counts/action-blocks.ts'
import { countEndedRuns, readRunDays } from '#engine/counts/run-days.ts'
import { replayDelivery } from '#engine/delivery-commands/redeliver.ts'
import { replaceReleases } from '#engine/runner/releases-on-disk.ts'
import { createApply, nextName, shop, summarize } from '#manage/apply/test-apply.ts'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { pruneOldData, readRetentionTotals } from '#ops/retention/prune.ts'
import type { ActionsTable, Commit, Retention } from '#platform/database/tables.ts'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { openTestApp } from '#test/support/harness.ts'
import {
  createAction,
  createHook,
  createHookRequest,
  createManyActions,
  createTestTree,
  makeLive,
  type TestTree,
} from '#test/support/world.ts'
import { createLargeLists, findPage } from '#views/actions/find-page.ts'

const api = await openTestApp({ after })
const { db, request } = api

const FOREVER: Retention = { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null }
const NO_COMMIT: Commit = {
  repository: null,
  author_name: null,
  author_email: null,
  committed_at: null,
  hash: null,
  message: null,
  url: null,
  clone_url: null,
  download_url: null,
}
const NO_SOURCE = { source_type: null, source_ref: null, repository: null, provider_name: null }
const DAY_MS = 86_400_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)

const prune = (defaults: Partial<Retention> = {}) =>
  pruneOldData(db, {
    defaults: { ...FOREVER, ...defaults },
    keepBodiesDays: 3_650,
    signal: AbortSignal.timeout(60_000),
  })

/** A tree of its own, so that no test sees the runs of another. */
async function openTree(retention: Partial<Retention>) {
  const tree = await createTestTree(db)
  await db
    .updateTable('environments')
    .set({ retention: JSON.stringify({ ...FOREVER, ...retention }) })
    .where('id', '=', tree.environmentId)
    .execute()
  await countEndedRuns(db)
  const run = (days: number, more: Partial<Insertable<ActionsTable>> = {}) => {
    const at = daysAgo(days)
    const times = { created_at: at, started_at: at, completed_at: at }
    return createAction(db, tree, { ...times, ...more }, { started_at: at, completed_at: at })
  }
  const left = async () => {
    const rows = await db
      .selectFrom('actions')
      .select('id')
      .where('environment_id', '=', tree.environmentId)
      .orderBy('id')
      .execute()
    return rows.map(({ id }) => id)
  }
  return { tree, run, left }
}

async function requestsOf(hookId: string): Promise<string[]> {
  const rows = await db.selectFrom('hook_requests').select('id').where('hook_id', '=', hookId).execute()
  return rows.map(({ id }) => id)
}

async function addLog(actionId: number): Promise<void> {
  await sql`insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes)
    select id, 1, 0, 1, 'hello', 5 from targets where action_id = ${actionId}`.execute(db)
}

async function rowsOf(actionIds: number[]) {
  const { rows } = await sql<Record<string, number>>`select
    (select count(*) from targets where action_id = any(${actionIds}::bigint[])) as targets,
    (select count(*) from events where action_id = any(${actionIds}::bigint[])) as events,
    (select count(*) from deliveries where action_id = any(${actionIds}::bigint[])) as deliveries,
    (select count(*) from approval_requests where action_id = any(${actionIds}::bigint[])) as requests,
    (select count(*) from step_log_chunks c join targets t on t.id = c.target_id
      where t.action_id = any(${actionIds}::bigint[])) as logs`.execute(db)
  return rows[0]!
}

suite('runs', () => {
  test('by default everything is kept', async () => {
    const { run, left } = await openTree({})
    const id = await run(4_000)
    assert.deepEqual(await prune(), { runs: 0, logs: 0, requests: 0, bodies: 0 })
    assert.deepEqual(await left(), [id])
  })

  test('that ended longer ago than their environment keeps them go, with all that belongs to them', async () => {
    const { tree, run, left } = await openTree({ runs_days: 30 })
    const [old, young] = [await run(31), await run(29)]
    const hookId = await createHook(db, tree, 'outgoing')
    for (const id of [old, young]) {
      await addLog(id)
      await sql`insert into approval_requests (action_id, environment_id, pipeline_id, due_at)
        values (${id}, ${tree.environmentId}, ${tree.pipelineId}, null)`.execute(db)
      await sql`with e as (insert into events (action_id, status, status_reason_code)
          values (${id}, 'completed', 'COMPLETED') returning id)
        insert into deliveries (hook_id, event_id, action_id, is_final, state)
        select ${hookId}::uuid, e.id, ${id}, true, 'delivered' from e`.execute(db)
    }
    const requestId = await createHookRequest(db, hookId, 'outgoing', { action_id: old })
    const before = await readRetentionTotals(db)
    await prune()
    assert.deepEqual(await left(), [young])
    assert.deepEqual(await rowsOf([old]), { targets: 0, events: 0, deliveries: 0, requests: 0, logs: 0 })
    assert.deepEqual(await rowsOf([young]), { targets: 2, events: 1, deliveries: 1, requests: 1, logs: 2 })
    const { token } = tree.owner
    assert.equal((await request('GET', `/actions/${old}`, { token })).status, 404)
    assert.deepEqual(await requestsOf(hookId), [requestId], 'records of deliveries have a limit of their own')
    assert.equal((await replayDelivery(db, requestId, tree.owner.id)).kind, 'gone')
    const totals = await readRetentionTotals(db)
    assert.equal(totals.runs - before.runs, 1)
    assert.ok(totals.finished_at)
  })

  test('beyond the number that a pipeline keeps go, and those of the last hour stay', async () => {
    const { run, left } = await openTree({ runs_per_pipeline: 2 })
    const ids = [await run(3), await run(2), await run(0.01), await run(1), await run(0.5)]
    await prune()
    assert.deepEqual(await left(), ids.slice(2))
  })

  test('follow the defaults of the installation where the environment has no limits of its own', async () => {
    const { tree, run, left } = await openTree({})
    const own = await run(400)
    await prune({ runs_days: 365 })
    assert.deepEqual(await left(), [own], 'limits of its own: forever')
    await db
      .updateTable('environments')
      .set({ retention: null })
      .where('id', '=', tree.environmentId)
      .execute()
    await prune({ runs_days: 365 })
    assert.deepEqual(await left(), [])
  })

  test('that are unfinished, or have a pending delivery, stay', async () => {
    const { tree, run, left } = await openTree({ runs_days: 1 })
    const unfinished = await run(9, {
      status: 'in-progress',
      status_reason_code: 'IN_PROGRESS',
      completed_at: null,
    })
    const undelivered = await run(9)
    const hookId = await createHook(db, tree, 'outgoing')
    await sql`insert into deliveries (hook_id, event_id, action_id, is_final)
      values (${hookId}, ${undelivered}, ${undelivered}, true)`.execute(db)
    await prune()
    assert.deepEqual(await left(), [unfinished, undelivered])
  })

  test('stay as long as a run that they started, or that retries them, stays; then all go at once', async () => {
    const { run, left } = await openTree({ runs_days: 10 })
    const parent = await run(30)
    const retried = await run(20, { parent_id: parent })
    const again = await run(5, { retry_of: retried, trigger_type: 'retry' })
    await prune()
    assert.deepEqual(await left(), [parent, retried, again])
    await db
      .updateTable('actions')
      .set({ completed_at: daysAgo(11) })
      .where('id', '=', again)
      .execute()
    await db
      .updateTable('actions')
      .set({ created_at: daysAgo(11) })
      .where('id', '=', again)
      .execute()
    await prune()
    assert.deepEqual(await left(), [])
  })

  test('whose release is live or on the disk of a server stay, and a rollback to one still starts', async () => {
    const { tree, run, left } = await openTree({ runs_days: 10 })
    const release = (name: string, day: number) =>
      run(day, {
        release_name: name,
        commit: JSON.stringify({ ...NO_COMMIT, hash: 'a'.repeat(40) }),
        deployment: JSON.stringify({ ...NO_SOURCE, type: 'deploy' }),
      })
    const gone = await release('20260101000000-aaaaaaa', 60)
    const kept = await release('20260102000000-aaaaaaa', 50)
    const live = await release('20260103000000-aaaaaaa', 40)
    const rolledBack = await release('20260103000000-aaaaaaa', 30)
    await makeLive(db, tree, rolledBack)
    const disk = { applicationId: tree.applicationId, serverId: tree.serverIds[0]! }
    const all = ['20260101000000-aaaaaaa', '20260102000000-aaaaaaa'].map((name) => ({ name, wasLive: true }))
    await replaceReleases(db, disk, all)
    await prune()
    assert.deepEqual(await left(), [gone, kept, live, rolledBack])
    // The next deploy finds one release less; it was recorded long ago.
    await sql`update releases_on_disk set recorded_at = now() - interval '3 days'`.execute(db)
    await replaceReleases(db, disk, all.slice(1))
    await prune()
    assert.deepEqual(await left(), [kept, live, rolledBack])
    const rollback = await request('POST', `/pipelines/${tree.pipelineId}/actions`, {
      token: tree.owner.token,
      body: { type: 'rollback', release_name: '20260102000000-aaaaaaa' },
    })
    assert.equal(rollback.status, 201, rollback.text)
  })

  test('that may be live on a server where that is unknown stay, both of them', async () => {
    const { tree, run, left } = await openTree({ runs_days: 10 })
    const release = (name: string, day: number) => run(day, { release_name: name })
    const old = await release('20260101000000-aaaaaaa', 60)
    const last = await release('20260102000000-aaaaaaa', 50)
    const candidate = await release('20260103000000-aaaaaaa', 40)
    await makeLive(db, tree, last)
    const { applicationId } = tree
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      await storeUnknown(
        trx,
        { applicationId, serverId: tree.serverIds[0]! },
        {
          reason: 'The run ended during the switch.',
          targetId: null,
          candidate: { actionId: candidate, releaseName: '20260103000000-aaaaaaa', commitSha: null },
        },
      )
    })
    await prune()
    assert.deepEqual(await left(), [last, candidate])
    assert.ok(old < last)
  })

  test('that no statistics have counted yet stay', async () => {
    const { run, left } = await openTree({ runs_per_pipeline: 1 })
    const ids = [await run(2), await run(1), await run(0.5)]
    const { until } = await db.selectFrom('counted_runs').select('until').executeTakeFirstOrThrow()
    await db
      .updateTable('counted_runs')
      .set({ until: daysAgo(1.5).toISOString() })
      .execute()
    await prune()
    assert.deepEqual(await left(), ids.slice(1))
    await db.updateTable('counted_runs').set({ until }).execute()
  })
})

suite('what is computed from runs', () => {
  test('days keep their counts when their runs are gone', async () => {
    const { tree, run, left } = await openTree({ runs_days: 1 })
    await run(3)
    await run(3)
    await db
      .updateTable('counted_runs')
      .set({ until: daysAgo(5).toISOString() })
      .execute()
    await sql`delete from run_days`.execute(db)
    const before = await readRunDays(db, [tree.environmentId])
    await countEndedRuns(db)
    await prune()
    assert.deepEqual(await left(), [])
    assert.deepEqual(await readRunDays(db, [tree.environmentId]), before)
    assert.equal(
      before.reduce((sum, { completed }) => sum + completed, 0),
      2,
    )
  })

  test('pages stay exact, however deep, when most runs of closed blocks are gone', async () => {
    const { tree, left } = await openTree({ runs_days: 30 })
    await createManyActions(db, tree, BLOCK, daysAgo(60))
    await createManyActions(db, tree, BLOCK + 500, daysAgo(20))
    await countClosedBlocks(db)
    const kept = await left()
    const removed = await prune()
    assert.equal(removed.runs, BLOCK)
    const all = (await left()).toReversed()
    assert.deepEqual(all, kept.slice(BLOCK).toReversed())
    const { rows } = await sql<{ matches: boolean }>`
      select bool_and(b.actions = (select count(*) from actions a where a.environment_id = b.environment_id
        and a.id between b.block * ${BLOCK} and b.block * ${BLOCK} + ${BLOCK - 1})) as matches
      from action_blocks b`.execute(db)
    assert.equal(rows[0]!.matches, true)
    for (const offset of [0, 2_100, 4_999, 5_400, 5_500, 9_000]) {
      const page = await findPage(db, [tree.environmentId], {}, { limit: 50, offset }, createLargeLists())
      assert.deepEqual(
        page.rows.map(({ id }) => id),
        all.slice(offset, offset + 50),
      )
      const jump = await jumpToOffset(db, [tree.environmentId], offset)
      assert.ok(jump === undefined || jump === (all[offset] ?? 0), `${offset}: ${jump}`)
    }
  })
})

suite('logs', () => {
  test('go at their own age, and the runs stay', async () => {
    const { tree, run, left } = await openTree({ logs_days: 7 })
    const [old, young] = [await run(8), await run(6)]
    for (const id of [old, young]) await addLog(id)
    await prune()
    assert.deepEqual([(await rowsOf([old])).logs, (await rowsOf([young])).logs], [0, 2])
    assert.deepEqual(await left(), [old, young])
    const [target] = await db.selectFrom('targets').select('id').where('action_id', '=', old).execute()
    const log = await request('GET', `/actions/${old}/targets/${target!.id}/steps/1/logs`, {
      token: tree.owner.token,
    })
    assert.deepEqual([log.status, log.body.step.output], [200, ''])
  })

  test('of a run that ends late are removed all the same', async () => {
    const { run } = await openTree({ logs_days: 7 })
    const late = await run(9, {
      status: 'in-progress',
      status_reason_code: 'IN_PROGRESS',
      completed_at: null,
    })
    const other = await run(8)
    for (const id of [late, other]) await addLog(id)
    await prune()
    assert.deepEqual([(await rowsOf([late])).logs, (await rowsOf([other])).logs], [2, 0])
    await db
      .updateTable('actions')
      .set({ status: 'completed', status_reason_code: 'COMPLETED', completed_at: daysAgo(7.5) })
      .where('id', '=', late)
      .execute()
    await prune()
    assert.equal((await rowsOf([late])).logs, 0)
  })
})

test('records of calls and deliveries go at their own age; a run stays without the call that started it', async () => {
  const { tree, run, left } = await openTree({ requests_days: 5 })
  const hookId = await createHook(db, tree, 'incoming')
  const at = (days: number) => ({ id: uuidAt(daysAgo(days).getTime()), created_at: daysAgo(days) })
  const old = await createHookRequest(db, hookId, 'incoming', at(6))
  const young = await createHookRequest(db, hookId, 'incoming', { ...at(4), retry_of: old })
  const id = await run(6, { trigger_type: 'hook', hook_id: hookId, hook_request_id: old })
  assert.equal((await prune()).requests, 1)
  assert.deepEqual(await requestsOf(hookId), [young])
  const action = await request('GET', `/actions/${id}`, { token: tree.owner.token })
  assert.deepEqual([action.status, action.body.hook_requests.incoming], [200, null])
  assert.deepEqual(await left(), [id])
})

test('a pass that is told to stop removes nothing more, and the next one continues', async () => {
  const { tree, left } = await openTree({ runs_days: 30 })
  await createManyActions(db, tree, 450, daysAgo(60))
  await pruneOldData(db, { defaults: FOREVER, keepBodiesDays: 3_650, signal: AbortSignal.abort() })
  assert.equal((await left()).length, 450)
  await prune()
  assert.equal((await left()).length, 0)
})

suite('the retention of an environment', () => {
  const open = async () => {
    const tree: TestTree = await createTestTree(db)
    const path = `/environments/${tree.environmentId}`
    const { token } = tree.owner
    const change = (retention: unknown) => request('PUT', path, { token, body: { retention } })
    return { change, read: async () => (await request('GET', path, { token })).body }
  }

  test('is null until it is set, and what is left out is kept forever', async () => {
    const { change, read } = await open()
    assert.deepEqual([(await read()).retention, (await read()).effective_retention], [null, FOREVER])
    const set = await change({ runs_days: 90 })
    assert.deepEqual([set.status, set.body.retention], [200, { ...FOREVER, runs_days: 90 }])
    assert.deepEqual((await read()).effective_retention, { ...FOREVER, runs_days: 90 })
    assert.equal((await change(null)).body.retention, null)
  })

  test('is part of gantry.yaml: what is left out changes nothing, null returns to the defaults', async () => {
    const { applied } = await createApply(api)
    const name = nextName()
    const apply = async (retention: string) =>
      summarize(await applied(shop(name, `  live: {type: production${retention}}`)))
    await apply('')
    assert.deepEqual(await apply(', retention: {runs_days: 90}'), ['change environments.live'])
    assert.deepEqual(await apply(', retention: {runs_days: 90}'), [])
    assert.deepEqual(await apply(''), [])
    assert.deepEqual(await apply(', retention: null'), ['change environments.live'])
  })

  test('rejects limits that are none', async () => {
    const { change } = await open()
    for (const retention of [
      { runs_days: 0 },
      { logs_days: 'x' },
      { days: 1 },
      30,
      { runs_per_pipeline: 1.5 },
    ])
      assert.equal((await change(retention)).status, 422, JSON.stringify(retention))
  })
})
