// A million actions, first without statistics and with plans made for almost empty tables, then with statistics: no call,
// run, delivery or periodic job reads all of a growing table, not even once.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { countClosedBlocks } from '#engine/counts/action-blocks.ts'
import { countEndedRuns } from '#engine/counts/run-days.ts'
import { sweepSlots } from '#engine/scheduling/jobs.ts'
import { testServer } from '#test/support/database.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const STORED = 1_000_000
/** Of each: deliveries, and their requests. */
const STORED_DELIVERIES = 200_000
const STORED_WAITING = 100_000
const CALLS = 30
/** To a pipeline where others wait. */
const MORE_CALLS = 50
const STARTS = 5
/** Rows of one table: far fewer than it has, more than calls, runs, deliveries and periodic jobs need. */
const MANY = 50_000
const GROWING = [
  'actions',
  'targets',
  'events',
  'target_moves',
  'hook_requests',
  'deliveries',
  'delivery_claims',
  'step_log_chunks',
  'deployments',
]

type Hook = Awaited<ReturnType<typeof world.makeHook>>

const all = { after }
const receiver = await openReceiver(all)
const world = await openRunWorld(all, { environment: { GANTRY_ALLOW_TARGETS: '127.0.0.0/8' } })
const { db } = world

suite('a million actions are stored', () => {
  let hook: Hook
  let busyHook: Hook
  let busyId: number

  before(async () => {
    const pipeline = { max_parallel_actions: 1 }
    const { pipelineId } = await world.makeCustom([{ name: 'nothing', command: 'true' }], { pipeline })
    const busy = await world.makeCustom([{ name: 'forever', command: 'sleep 600' }], { pipeline })
    busyId = busy.pipelineId
    hook = await world.makeHook(pipelineId)
    busyHook = await world.makeHook(busyId)
    const outgoing = await world.ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, {
      name: 'Notify',
      target_url: receiver.url,
      settings: { request_body: { status: '{{ action.status }}' } },
      trigger_when: { events: ['action.created', 'action.status_changed'] },
    })
    assert.equal(outgoing.status, 201, JSON.stringify(outgoing.body))
    for (const table of GROWING)
      await sql`alter table ${sql.table(table)} set (autovacuum_enabled = false)`.execute(db)
    // Connections remember their plans: those of tables that were almost empty must suit full ones.
    for (let time = 0; time < 3; time += 1) await runAll()
    for (let time = 0; time < 6; time += 1) await runPeriodic()
    let isStored = false
    const storing = store(pipelineId, busyId).finally(() => {
      isStored = true
    })
    // Idle connections are closed, and their plans with them: these have work meanwhile.
    while (!isStored) {
      await world.fire(busyHook)
      await runPeriodic()
    }
    await storing
  })

  /** Calls, their runs, and the deliveries of those; and calls to a pipeline where runs wait, and some of them start. */
  async function runAll(): Promise<void> {
    const endsBefore = deliveredEnds()
    for (let n = 0; n < MORE_CALLS; n += 1) await world.fire(busyHook, { n })
    for (let time = 0; time < STARTS; time += 1) await startNext(busyId)
    const ids = await Promise.all(Array.from({ length: CALLS }, (_, n) => world.fire(hook, { n })))
    for (const id of ids) await world.completed(id)
    await until('every end is delivered', 30_000, () => deliveredEnds() >= endsBefore + CALLS)
  }

  /** What would run every half minute, or every minute. */
  async function runPeriodic(): Promise<void> {
    await sweepSlots(db, async () => assert.fail('a target had no job'), assert.ifError)
    await countClosedBlocks(db)
    await countEndedRuns(db)
  }

  for (const knowledge of ['without statistics', 'with statistics'] as const) {
    test(`${knowledge}, no call, run, delivery or periodic job reads all of a growing table`, async () => {
      if (knowledge === 'with statistics') await sql`analyze`.execute(db)
      const before = await settledReads()
      await runAll()
      await runPeriodic()
      const reads = await settledReads()
      const read = GROWING.map((table) => ({ table, rows: reads.get(table)! - before.get(table)! }))
      assert.deepEqual(
        read.filter(({ rows }) => rows > MANY),
        [],
      )
    })
  }
})

/** Cancels the run that takes the only slot of this pipeline. */
async function startNext(pipelineId: number): Promise<void> {
  const running = async () => {
    const { rows } = await sql<{ id: number }>`
      select id from actions where status = 'in-progress' and pipeline_id = ${pipelineId}`.execute(db)
    return rows[0]?.id
  }
  const id = await until('the slot is taken', 30_000, running)
  await world.cancel(id)
  await until('the next run has started', 30_000, async () => ![undefined, id].includes(await running()))
}

function deliveredEnds(): number {
  return receiver.arrivals.filter(({ json }) => json.status === 'completed').length
}

/** Nothing is analyzed unless the test says so. */
async function store(...pipelines: [idle: number, busy: number]): Promise<void> {
  // Not through the pool: its statements end after half a minute.
  const client = new pg.Client({ ...testServer(), database: await databaseName() })
  await client.connect()
  try {
    for (const statement of rowsOf(...pipelines)) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function databaseName(): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  return rows[0]!.name
}

/** What is left of a million runs, as briefly as the tables allow. They stay new for as long as the test takes. */
function rowsOf(pipelineId: number, busyId: number): string[] {
  return [
    'set session_replication_role = replica',
    'set synchronous_commit = off',
    `insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, created_at,
        started_at, completed_at)
      select p.environment_id, p.id, p.operation, 'completed', 'COMPLETED', 'manual', later, later, later
      from pipelines p, generate_series(1, ${STORED}), (select now() + interval '1 hour' as later) as moment
      where p.id = ${pipelineId}`,
    `insert into targets (action_id, position, server_id, status, status_reason_code, steps, started_at, completed_at)
      select a.id, 1, p.server_id, 'completed', 'COMPLETED', '[]', now(), now()
      from actions a join pipelines p on p.id = a.pipeline_id where a.trigger_type = 'manual'`,
    `insert into events (action_id, previous_status, status, status_reason_code)
      select id, 'in-progress', 'completed', 'COMPLETED' from actions where trigger_type = 'manual'`,
    `insert into target_moves (target_id, previous_status, status, status_reason_code, occurred_at)
      select id, 'in-progress', 'completed', 'COMPLETED', now() from targets where steps = '[]'`,
    `insert into deliveries (hook_id, event_id, action_id, is_final, state)
      select h.id, e.id, e.action_id, true, 'delivered'
      from (select * from events where action_id in (select id from actions where trigger_type = 'manual')
        limit ${STORED_DELIVERIES}) e, hooks h where h.type = 'outgoing'`,
    `insert into hook_requests (id, hook_id, type, action_id, url, method, outcome, response_status_code)
      select uuidv7(), hook_id, 'outgoing', action_id, 'http://127.0.0.1/', 'POST', 'delivered', 200 from deliveries`,
    `insert into deployments (action_id, application_id, environment_id, is_rollback, has_new_commit, server_ids,
        first_activated_at, last_activated_at, result, ended_at)
      select distinct action_id, 1, 1, false, true, '{1}'::bigint[], now(), now(), 'COMPLETED', now() from deliveries`,
    `insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, created_at)
      select p.environment_id, p.id, p.operation, 'waiting', 'WAITING_CONCURRENCY_PIPELINE', 'manual',
        now() + interval '1 hour'
      from pipelines p, generate_series(1, ${STORED_WAITING}) where p.id = ${busyId}`,
  ]
}

/** How many rows of each table were read, once all sessions have reported: the figures stay the same for a while. */
async function settledReads(): Promise<Map<string, number>> {
  let before = ''
  let reads = new Map<string, number>()
  let since = performance.now()
  await until('figures settle', 30_000, async () => {
    const { rows } = await sql<{ relname: string; read: number }>`
      select relname, (t.seq_tup_read + sum(i.idx_tup_read))::bigint as read
      from pg_stat_user_tables t join pg_stat_user_indexes i using (relid, relname)
      where t.schemaname = 'public' and relname = any(${GROWING}) group by relname, t.seq_tup_read
      order by relname`.execute(db)
    reads = new Map(rows.map(({ relname, read }) => [relname, read]))
    const now = JSON.stringify(rows)
    if (now !== before) [before, since] = [now, performance.now()]
    return performance.now() - since > 2_000
  })
  return reads
}
