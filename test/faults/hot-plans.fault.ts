// A million actions, first without statistics and with plans made for almost empty tables, then with statistics: calls,
// scheduling, runs and deliveries read only the rows that they need.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { testServer } from '#test/support/database.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const STORED = 1_000_000
/** Of each: deliveries, and their requests. */
const STORED_DELIVERIES = 200_000
const CALLS = 30
/** Rows of one table: far more than a few runs need, far fewer than are stored. */
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
]

const all = { after }
const receiver = await openReceiver(all)
const world = await openRunWorld(all, { environment: { GANTRY_ALLOW_TARGETS: '127.0.0.0/8' } })
const { db } = world

suite('a million actions are stored', () => {
  let hook: Awaited<ReturnType<typeof world.makeHook>>
  let pipelineId: number

  before(async () => {
    const { pipelineId: made } = await world.makeCustom([{ name: 'nothing', command: 'true' }], {
      pipeline: { max_parallel_actions: 1 },
    })
    pipelineId = made
    hook = await world.makeHook(pipelineId)
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
    await store(pipelineId)
  })

  /** Calls, their runs, and the deliveries of those. */
  async function runAll(): Promise<void> {
    const endsBefore = deliveredEnds()
    const ids = await Promise.all(Array.from({ length: CALLS }, (_, n) => world.fire(hook, { n })))
    for (const id of ids) await world.completed(id)
    await until('every end is delivered', 30_000, () => deliveredEnds() >= endsBefore + CALLS)
  }

  for (const knowledge of ['without statistics', 'with statistics'] as const) {
    test(`${knowledge}, calls, runs and deliveries read only the rows that they need`, async () => {
      if (knowledge === 'with statistics') await sql`analyze`.execute(db)
      const before = await settledReads()
      await runAll()
      const reads = await settledReads()
      const read = GROWING.map((table) => ({ table, rows: reads.get(table)! - before.get(table)! }))
      assert.deepEqual(
        read.filter(({ rows }) => rows > MANY),
        [],
      )
    })
  }
})

function deliveredEnds(): number {
  return receiver.arrivals.filter(({ json }) => json.status === 'completed').length
}

/** Nothing is analyzed unless the test says so. */
async function store(pipelineId: number): Promise<void> {
  // Not through the pool: its statements end after half a minute.
  const client = new pg.Client({ ...testServer(), database: await databaseName() })
  await client.connect()
  try {
    for (const statement of rowsOf(pipelineId)) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function databaseName(): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  return rows[0]!.name
}

/** What is left of a million runs, as briefly as the tables allow. */
function rowsOf(pipelineId: number): string[] {
  return [
    'set session_replication_role = replica',
    'set synchronous_commit = off',
    `insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type, started_at,
        completed_at)
      select p.environment_id, p.id, p.operation, 'completed', 'COMPLETED', 'manual', now(), now()
      from pipelines p, generate_series(1, ${STORED}) where p.id = ${pipelineId}`,
    `insert into targets (action_id, position, server_id, status, status_reason_code, steps, started_at, completed_at)
      select a.id, 1, p.server_id, 'completed', 'COMPLETED', '[]', now(), now()
      from actions a join pipelines p on p.id = a.pipeline_id where a.trigger_type = 'manual'`,
    `insert into events (action_id, previous_status, status, status_reason_code)
      select id, 'in-progress', 'completed', 'COMPLETED' from actions where trigger_type = 'manual'`,
    `insert into target_moves (target_id, previous_status, status, status_reason_code, occurred_at)
      select id, 'in-progress', 'completed', 'COMPLETED', now() from targets where steps = '[]'`,
    `insert into deliveries (hook_id, event_id, action_id, is_final, state)
      select h.id, e.id, e.action_id, true, 'delivered'
      from (select * from events order by id desc limit ${STORED_DELIVERIES}) e, hooks h where h.type = 'outgoing'`,
    `insert into hook_requests (id, hook_id, type, action_id, url, method, outcome, response_status_code)
      select uuidv7(), hook_id, 'outgoing', action_id, 'http://127.0.0.1/', 'POST', 'delivered', 200 from deliveries`,
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
