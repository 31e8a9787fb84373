// What the overview shows and to whom, how it is narrowed, and which workers it counts.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { countEndedRuns } from '#engine/counts/run-days.ts'
import { recordActivation, recordRevert } from '#model/live/deployments.ts'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { startHeartbeat } from '#model/workers/heartbeat.ts'
import { countOnline } from '#model/workers/live-workers.ts'
import { openOverview } from '#test/support/overview.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type TestTree,
} from '#test/support/world.ts'

const { db, request, overviewOf } = await openOverview({ after })

const idsOf = (runs: { id: number }[]) => runs.map(({ id }) => id)
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

const RUNNING = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const
const failedAt = (completed_at: string) =>
  ({ status: 'failed', status_reason_code: 'FAILED', started_at: completed_at, completed_at }) as const
/** Actions without targets: nothing here looks at them. */
const create = (tree: TestTree, more: Parameters<typeof createAction>[2] = {}) =>
  createAction(db, { ...tree, serverIds: [] }, more)

suite('the overview', () => {
  test('of a user who may see nothing is empty and complete', async () => {
    const overview = await overviewOf(await createPerson(db))
    assert.deepEqual(Object.keys(overview), [
      'counts',
      'running',
      'waiting',
      'failures',
      'runs_per_day',
      'median_duration_seconds_per_day',
      'deliveries',
      'needs_attention',
      'recent_deployments',
      'waiting_for_you',
      'workers',
      'queue',
    ])
    assert.deepEqual(overview.counts, { running: 0, waiting: 0, failed_last_day: 0, canceled_last_day: 0 })
    assert.deepEqual([overview.running, overview.waiting], [[], []])
    assert.deepEqual(overview.deliveries, { failing: [], pending: 0, failed_last_day: 0, failed: [] })
    assert.equal(overview.runs_per_day.length, 30)
    assert.equal(overview.median_duration_seconds_per_day.length, 30)
    const jobs = overview.queue.depths.map(({ job }: { job: string }) => job)
    assert.ok(jobs.includes('targets.run'))
  })

  test('names servers whose live release is not known, to callers who may see both', async () => {
    const tree = await createTestTree(db)
    const { applicationId } = tree
    const [serverId] = tree.serverIds as [number]
    const unknown = { reason: 'The run ended during the switch.', targetId: null, candidate: null }
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      await storeUnknown(trx, { applicationId, serverId }, unknown)
    })
    const { needs_attention } = await overviewOf(tree.owner)
    assert.equal(needs_attention.count, 1)
    const [{ kind, application, server, detail }] = needs_attention.items
    assert.deepEqual(
      [kind, application.id, server.id, detail],
      ['live_unknown', applicationId, serverId, unknown.reason],
    )
    const stranger = await overviewOf((await createTestTree(db)).owner)
    assert.deepEqual(stranger.needs_attention, { count: 0, items: [] })
  })

  test('names pipelines whose newest finished run failed, failing hooks, and servers without a worker', async () => {
    const tree = await createTestTree(db)
    const server = { pipeline_id: tree.serverPipelineId, type: 'restart' }
    await create(tree)
    const failed = await create(tree, failedAt(ago(60 * 24 * 29)))
    // Neither what is running, skipped or canceled hides or changes that, nor what was fixed or is long ago.
    await create(tree, RUNNING)
    await create(tree, { ...server, ...failedAt(ago(60 * 24 * 31)) })
    const disabled = { active: false, disabled_at: ago(5), disabled_reason: 'The receiver is gone.' }
    const hookId = await createHook(db, tree, 'outgoing', disabled)
    const waiting = { status: 'waiting', status_reason_code: 'WAITING_WORKER' } as const
    const unstarted = { started_at: null, completed_at: null } as const
    const stranded = await createAction(
      db,
      { ...tree, serverIds: [tree.serverIds[1]!] },
      { ...waiting, ...unstarted },
      { ...waiting, ...unstarted },
    )
    const { needs_attention } = await overviewOf(tree.owner)
    assert.equal(needs_attention.count, 3)
    const [offline, hook, run] = needs_attention.items
    assert.deepEqual(
      [offline.kind, offline.server.id, offline.action_id, offline.application],
      ['worker_offline', tree.serverIds[1], stranded, null],
    )
    assert.deepEqual(
      [hook.kind, hook.hook.id, hook.detail],
      ['hook_failing', hookId, 'The receiver is gone.'],
    )
    assert.deepEqual([hook.pipeline.id, hook.application.id], [tree.pipelineId, tree.applicationId])
    assert.deepEqual(
      [run.kind, run.action_id, run.application.id, run.server, run.detail],
      ['run_failed', failed, tree.applicationId, null, 'Failed.'],
    )
    await create(tree)
    const fixed = await overviewOf(tree.owner)
    assert.deepEqual(
      fixed.needs_attention.items.map(({ kind }: { kind: string }) => kind),
      ['worker_offline', 'hook_failing'],
    )
    const stranger = await overviewOf((await createTestTree(db)).owner)
    assert.deepEqual(stranger.needs_attention, { count: 0, items: [] })
  })

  test('names incoming hooks that are not connected to their repository', async () => {
    const tree = await createTestTree(db)
    const connection = (hookId: string, state: string, ageMinutes: number) => ({
      hook_id: hookId,
      user_id: tree.owner.id,
      credential_id: tree.credentialId,
      provider: 'github',
      api_url: 'https://api.github.com',
      home_url: 'https://github.com',
      repository: 'acme/shop',
      webhook_id: null,
      events: ['push'],
      state,
      problem: 'It was deleted there.',
      state_since: ago(ageMinutes),
    })
    const states = [
      ['connected', 60],
      ['missing', 30],
      ['connecting', 11],
      ['connecting', 9],
    ] as const
    const ids: string[] = []
    for (const [state, age] of states) {
      const id = await createHook(db, tree, 'incoming', { name: `${state} ${age}` })
      await db
        .insertInto('hook_connections')
        .values(connection(id, state, age))
        .execute()
      ids.push(id)
    }
    const { needs_attention } = await overviewOf(tree.owner)
    assert.deepEqual(
      needs_attention.items.map(({ kind, hook, detail }: Record<string, { id: string }>) => [
        kind,
        hook!.id,
        detail,
      ]),
      [
        ['connection_lost', ids[2], 'It was deleted there.'],
        ['connection_lost', ids[1], 'It was deleted there.'],
      ],
    )
  })

  test('shows the latest deployments, with what came of them', async () => {
    const tree = await createTestTree(db)
    const { applicationId, serverIds } = tree
    const [one, two] = serverIds as [number, number]
    const commit = { hash: 'a'.repeat(40), message: 'Change', url: null }
    const first = await create(tree, { commit: JSON.stringify(commit) })
    const rollback = await create(tree, {
      ...failedAt(ago(1)),
      status_reason_code: 'FAILED_REVERTED',
      deployment: JSON.stringify({ type: 'rollback' }),
    })
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      for (const [actionId, serverId] of [
        [first, one],
        [first, two],
        [rollback, one],
      ] as const)
        await recordActivation(trx, { applicationId, serverId }, { actionId, replaced: null })
      await recordRevert(trx, { serverId: one }, { actionId: rollback })
    })
    const { recent_deployments } = await overviewOf(tree.owner)
    assert.deepEqual(
      recent_deployments.map((run: Record<string, unknown>) => [
        run.action_id,
        run.kind,
        run.status_reason_code,
        run.servers,
        run.reverted_servers,
        run.commit,
      ]),
      [
        [rollback, 'rollback', 'FAILED_REVERTED', 1, 1, null],
        [first, 'deploy', 'COMPLETED', 2, 0, commit],
      ],
    )
    assert.equal(recent_deployments[0].application.id, applicationId)
    const stranger = await overviewOf((await createTestTree(db)).owner)
    assert.deepEqual(stranger.recent_deployments, [])
  })

  test('shows runs in progress, newest first, with everything a row needs', async () => {
    const tree = await createTestTree(db)
    const deploy = await create(tree, { ...RUNNING, trigger_name: 'Ada' })
    const restart = await create(tree, { ...RUNNING, pipeline_id: tree.serverPipelineId, type: 'restart' })
    await create(tree)
    const { running } = await overviewOf(tree.owner)
    assert.deepEqual(idsOf(running), [restart, deploy])
    const [onServer, onApplication] = running
    assert.equal(onServer.resource_name, 'web-1')
    assert.equal(onApplication.resource_name, 'Shop')
    assert.equal(onApplication.resource_type, 'application')
    assert.equal(onApplication.resource_id, tree.applicationId)
    assert.equal(onApplication.environment.id, tree.environmentId)
    assert.equal(onApplication.project.id, tree.projectId)
    assert.equal(onApplication.organization.id, tree.organizationId)
    assert.equal(onApplication.pipeline.name, 'Deploy')
    assert.equal(onApplication.status_human_readable, 'In progress')
    assert.equal(onApplication.trigger_name, 'Ada')
    assert.match(onApplication.url_web_permalink, new RegExp(`/app/actions/${deploy}$`))
    assert.ok(onApplication.started_at)
  })

  test('shows the failures of the last day, latest first, whenever their runs started', async () => {
    const tree = await createTestTree(db)
    const latest = await create(tree, { ...failedAt(ago(1)), created_at: ago(3 * 24 * 60) })
    const earlier = await create(tree, failedAt(ago(23 * 60)))
    await create(tree, failedAt(ago(25 * 60)))
    await create(tree, { ...failedAt(ago(2)), status_reason_code: 'FAILED_CANCELLED' })
    const { failures, counts } = await overviewOf(tree.owner)
    assert.deepEqual(idsOf(failures), [latest, earlier])
    assert.deepEqual([counts.failed_last_day, counts.canceled_last_day], [2, 1])
  })

  test('leaves out failures that a later run of the same pipeline fixed', async () => {
    const tree = await createTestTree(db)
    await create(tree, failedAt(ago(5)))
    const elsewhere = await create(tree, {
      ...failedAt(ago(4)),
      pipeline_id: tree.serverPipelineId,
      type: 'restart',
    })
    await create(tree)
    const again = await create(tree, {
      ...failedAt(ago(1)),
      deployment: JSON.stringify({ type: 'rollback', source_type: 'branch', source_ref: 'main' }),
    })
    const { failures, counts } = await overviewOf(tree.owner)
    assert.deepEqual(idsOf(failures), [again, elsewhere])
    assert.equal(counts.failed_last_day, 2)
    assert.deepEqual(
      failures.map((run: { deployment_type: string | null }) => run.deployment_type),
      ['rollback', null],
    )
  })

  test('shows runs that have not started, oldest first, with the reason', async () => {
    const tree = await createTestTree(db)
    const unstarted = { started_at: null, completed_at: null } as const
    const busy = { status: 'waiting', status_reason_code: 'WAITING_CONCURRENCY_PIPELINE' } as const
    const waiting = await create(tree, { ...unstarted, ...busy })
    const ofServer = { pipeline_id: tree.serverPipelineId, type: 'restart' }
    const pending = { ...unstarted, status: 'pending', status_reason_code: 'PENDING' } as const
    const second = await create(tree, { ...pending, ...ofServer })
    const queued = await create(tree, { ...unstarted, status: 'queued', status_reason_code: 'QUEUED' })
    await create(tree, RUNNING)
    await create(tree)
    const overview = await overviewOf(tree.owner)
    assert.deepEqual(idsOf(overview.waiting), [waiting, second, queued])
    assert.equal(overview.waiting[0].status_reason_human_readable, 'Waiting: pipeline busy')
    assert.deepEqual(overview.counts, { running: 1, waiting: 3, failed_last_day: 0, canceled_last_day: 0 })
  })

  test('counts more runs than it shows', async () => {
    const tree = await createTestTree(db)
    const add = (count: number, status: string, reason: string, [started, ended]: [boolean, boolean]) =>
      sql`
        insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type,
          started_at, completed_at)
        select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', ${status}, ${reason}, 'manual',
          case when ${started}::boolean then now() end, case when ${ended}::boolean then now() end
        from generate_series(1, ${count}::int)`.execute(db)
    await add(60, 'in-progress', 'IN_PROGRESS', [true, false])
    await add(70, 'queued', 'QUEUED', [false, false])
    await add(10_001, 'failed', 'FAILED', [true, true])
    await create(tree, failedAt(ago(25 * 60)))
    const { counts, running, waiting, failures } = await overviewOf(tree.owner)
    assert.deepEqual([running.length, waiting.length, failures.length], [50, 50, 20])
    assert.deepEqual(counts, {
      running: 60,
      waiting: 70,
      failed_last_day: 10_000,
      canceled_last_day: 0,
    })
    assert.deepEqual(
      idsOf(waiting),
      idsOf(waiting).toSorted((one, other) => one - other),
    )
    const elsewhere = await overviewOf(tree.owner, '?filter[environment_id]=999999999')
    assert.deepEqual(elsewhere.counts, { running: 0, waiting: 0, failed_last_day: 0, canceled_last_day: 0 })
  })

  test('shows at most twenty failures across all environments', async () => {
    const tree = await createTestTree(db)
    const second = {
      ...tree,
      ...(await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)),
    }
    const ids: number[] = []
    for (let minutes = 25; minutes > 0; minutes--)
      ids.unshift(await create(minutes % 2 === 0 ? tree : second, failedAt(ago(minutes))))
    assert.deepEqual(idsOf((await overviewOf(tree.owner)).failures), ids.slice(0, 20))
  })

  test('counts runs on the day on which they ended, with their median duration', async () => {
    const tree = await createTestTree(db)
    // Two days ago: what other tests let end is later than what is added up here.
    const date = new Date(Date.now() - 2 * 24 * 60 * 60_000).toISOString().slice(0, 10)
    const took = (seconds: number) => ({
      started_at: `${date}T12:00:00Z`,
      completed_at: new Date(Date.parse(`${date}T12:00:00Z`) + seconds * 1_000).toISOString(),
    })
    for (const seconds of [10, 60, 600]) await create(tree, took(seconds))
    await create(tree, failedAt(`${date}T23:59:59.999Z`))
    await create(tree, {
      status: 'skipped',
      status_reason_code: 'SKIPPED',
      started_at: null,
      completed_at: `${date}T00:00:00Z`,
    })
    const check = async () => {
      const overview = await overviewOf(tree.owner)
      const ofDay = (one: { date: string }) => one.date === date
      const day = overview.runs_per_day.find(ofDay)
      assert.deepEqual(day, { date, completed: 3, failed: 1, skipped: 1 })
      const median = overview.median_duration_seconds_per_day.find(ofDay)
      assert.ok(Math.abs(median.seconds - 60) < 1, String(median.seconds))
    }
    await check()
    await countEndedRuns(db, { graceMinutes: 24 * 60 })
    await check()
  })

  test('shows only what the caller may see', async () => {
    const [mine, other] = [await createTestTree(db), await createTestTree(db)]
    for (const tree of [mine, other]) {
      await create(tree, RUNNING)
      await create(tree, failedAt(ago(1)))
      await createHook(db, tree, 'outgoing', { disabled_at: ago(1), disabled_reason: 'gone', active: false })
    }
    for (const person of [mine.owner, await createMember(db, mine, 'viewer')]) {
      const { running, failures, runs_per_day, deliveries } = await overviewOf(person)
      assert.equal(running.length, 1)
      assert.equal(running[0].environment.id, mine.environmentId)
      assert.equal(failures.length, 1)
      assert.equal(failures[0].environment.id, mine.environmentId)
      const counted = runs_per_day.reduce((sum: number, day: { failed: number }) => sum + day.failed, 0)
      assert.equal(counted, 1)
      assert.equal(deliveries.failing.length, 1)
      assert.equal(deliveries.failing[0].environment_id, mine.environmentId)
    }
  })

  test('shows hooks only to callers who may view hooks', async () => {
    const tree = await createTestTree(db)
    await create(tree, RUNNING)
    await createHook(db, tree, 'outgoing', { disabled_at: ago(1), disabled_reason: 'gone', active: false })
    const person = await createPerson(db)
    const role = await db
      .insertInto('roles')
      .values({ organization_id: tree.organizationId, name: 'Watcher', permissions: ['action:view'] })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: role.id, organization_id: tree.organizationId })
      .execute()
    const { running, deliveries } = await overviewOf(person)
    assert.equal(running.length, 1)
    assert.deepEqual(deliveries.failing, [])
  })

  test('can be narrowed to an organization, a project or an environment', async () => {
    const tree = await createTestTree(db)
    const second = {
      ...tree,
      ...(await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)),
    }
    const third = await createTestTree(db)
    await grantRole(db, tree.owner.id, 'viewer', { organizationId: third.organizationId })
    const [one, two, three] = [
      await create(tree, RUNNING),
      await create(second, RUNNING),
      await create(third, RUNNING),
    ]
    const running = async (query: string) => idsOf((await overviewOf(tree.owner, query)).running)
    assert.deepEqual(await running(''), [three, two, one])
    assert.deepEqual(await running(`?filter[organization_id]=${tree.organizationId}`), [two, one])
    assert.deepEqual(await running(`?filter[project_id]=${third.projectId}`), [three])
    assert.deepEqual(await running(`?filter[environment_id]=${tree.environmentId},${third.environmentId}`), [
      three,
      one,
    ])
    const stranger = await createTestTree(db)
    assert.deepEqual(await running(`?filter[environment_id]=${stranger.environmentId}`), [])
  })

  test('rejects unknown filters', async () => {
    const { token } = await createPerson(db)
    const wrong = await request('GET', '/overview?filter[project_id]=x&filter[environment_id]=0', { token })
    assert.equal(wrong.status, 422)
    assert.deepEqual(Object.keys(wrong.body.errors), ['filter[project_id]', 'filter[environment_id]'])
    assert.equal((await request('GET', '/overview?filter[status]=failed', { token })).status, 422)
    assert.equal((await request('GET', '/overview')).status, 401)
  })

  test('shows failing receivers, pending deliveries and failed ones', async () => {
    const tree = await createTestTree(db)
    const sick = await createHook(db, tree, 'outgoing', { name: 'Sick' })
    await createHook(db, tree, 'outgoing', { name: 'Well' })
    const off = await createHook(db, tree, 'outgoing', {
      name: 'Off',
      active: false,
      disabled_at: ago(5),
      disabled_reason: 'It answered 410 twice.',
    })
    const since = ago(60)
    await db
      .insertInto('hook_health')
      .values({ hook_id: sick, failures_in_a_row: 7, failing_since: since, open_until: ago(-1) })
      .execute()
    const action_id = await create(tree)
    const deliver = (event_id: number, state: 'pending' | 'failed' | 'delivered', last_request_id?: string) =>
      db
        .insertInto('deliveries')
        .values({ hook_id: sick, event_id, action_id, is_final: true, state, last_request_id })
        .execute()
    await deliver(1, 'pending')
    await deliver(2, 'pending')
    const lastId = randomUUIDv7()
    await deliver(3, 'failed', lastId)
    await deliver(4, 'failed', idOfTime(Date.now() - 23 * 3_600_000))
    await deliver(5, 'failed', idOfTime(Date.now() - 25 * 3_600_000))
    await deliver(6, 'delivered', randomUUIDv7())
    const { deliveries } = await overviewOf(tree.owner)
    assert.equal(deliveries.pending, 2)
    assert.equal(deliveries.failed_last_day, 2)
    assert.equal(deliveries.failed.length, 2)
    assert.deepEqual(deliveries.failed[0], {
      hook_id: sick,
      hook_name: 'Sick',
      action_id,
      last_request_id: lastId,
      last_error: null,
      failed_at: null,
    })
    assert.deepEqual(
      deliveries.failing.map((hook: { hook_id: string }) => hook.hook_id),
      [sick, off],
    )
    const [first, second] = deliveries.failing
    assert.equal(first.failures_in_a_row, 7)
    assert.equal(first.failing_since, since)
    assert.equal(first.disabled_at, null)
    assert.equal(second.disabled_reason, 'It answered 410 twice.')
    assert.equal(second.failures_in_a_row, 0)
  })

  /** A UUIDv7 as it was made then. */
  function idOfTime(milliseconds: number): string {
    const hex = milliseconds.toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
  }
})

suite('workers', () => {
  const WORKER = {
    name: 'm1',
    version: '0.0.0-test',
    capacity: 32,
    runningTargets: () => 0,
    onError: (error: Error) => assert.fail(error),
  }

  test('are online as long as they send heartbeats', async () => {
    const before = await countOnline(db)
    const one = await startHeartbeat(db, WORKER)
    const other = await startHeartbeat(db, WORKER)
    assert.equal(await countOnline(db), before + 2)
    assert.equal((await overviewOf(await createPerson(db))).workers.alive, before + 2)
    await one.stop()
    assert.equal(await countOnline(db), before + 1)
    await sql`update workers set seen_at = now() - interval '31 seconds'`.execute(db)
    assert.equal(await countOnline(db), 0)
    await other.stop()
  })

  test('are online again with the next heartbeat', async () => {
    const worker = await startHeartbeat(db, { ...WORKER, heartbeatMs: 5 })
    await sql`delete from workers`.execute(db)
    const deadline = Date.now() + 20_000
    while ((await countOnline(db)) === 0) assert.ok(Date.now() < deadline, 'no beat came')
    await worker.stop()
    assert.equal(await countOnline(db), 0)
  })
})
