// A million actions, first without statistics, then with them: calls, scheduling, runs and deliveries read no growing
// table from its beginning to its end.
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
    await store(pipelineId)
  })

  for (const knowledge of ['without statistics', 'with statistics'] as const) {
    test(`${knowledge}, no statement of calls, runs and deliveries reads all of a growing table`, async () => {
      if (knowledge === 'with statistics') await sql`analyze`.execute(db)
      const scansBefore = await settledScans()
      const endsBefore = deliveredEnds()
      const ids = await Promise.all(Array.from({ length: CALLS }, (_, n) => world.fire(hook, { n })))
      for (const id of ids) await world.completed(id)
      await until('every end is delivered', 30_000, () => deliveredEnds() >= endsBefore + CALLS)
      const scans = await settledScans()
      const read = GROWING.filter((table) => scans.get(table) !== scansBefore.get(table))
      assert.deepEqual(read, [])
    })
  }
})

function deliveredEnds(): number {
  return receiver.arrivals.filter(({ json }) => json.status === 'completed').length
}

/** Nothing is analyzed unless the test says so. */
async function store(pipelineId: number): Promise<void> {
  for (const table of GROWING)
    await sql`alter table ${sql.table(table)} set (autovacuum_enabled = false)`.execute(db)
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
      from actions a join pipelines p on p.id = a.pipeline_id`,
    `insert into events (action_id, previous_status, status, status_reason_code)
      select id, 'in-progress', 'completed', 'COMPLETED' from actions`,
    `insert into target_moves (target_id, previous_status, status, status_reason_code, occurred_at)
      select id, 'in-progress', 'completed', 'COMPLETED', now() from targets`,
    `insert into deliveries (hook_id, event_id, action_id, is_final, state)
      select h.id, e.id, e.action_id, true, 'delivered'
      from (select * from events order by id limit ${STORED_DELIVERIES}) e, hooks h where h.type = 'outgoing'`,
    `insert into hook_requests (id, hook_id, type, action_id, url, method, outcome, response_status_code)
      select uuidv7(), hook_id, 'outgoing', action_id, 'http://127.0.0.1/', 'POST', 'delivered', 200 from deliveries`,
  ]
}

/** How often each table was read as a whole, once all sessions have reported: the figures stay the same for a while. */
async function settledScans(): Promise<Map<string, number>> {
  let before = ''
  let scans = new Map<string, number>()
  let since = performance.now()
  await until('figures settle', 30_000, async () => {
    const { rows } = await sql<{ relname: string; scans: number }>`
      select relname, seq_scan as scans from pg_stat_user_tables
      where schemaname = 'public' and relname = any(${GROWING}) order by relname`.execute(db)
    scans = new Map(rows.map((row) => [row.relname, row.scans]))
    const now = JSON.stringify(rows)
    if (now !== before) [before, since] = [now, performance.now()]
    return performance.now() - since > 2_000
  })
  return scans
}
