// The contract with pg-boss: everything that this room relies on and pg-boss does not document. When a test fails after an
// update of pg-boss, the SQL of this room has to follow before the update lands (docs/decisions/0002-queue.md).
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import { openListener } from '#platform/database/listen.ts'
import { type Attempt, DEAD_LETTERS, WAKE_CHANNEL } from './core.ts'
import { fetchJobs } from './fetch-jobs.ts'
import { affectedIds } from './handler.ts'
import { addingJob } from './job-sql.ts'
import { createTestQueue, type TestQueue } from './test-queue.ts'

const VERSION = '12.35.0'

/** All of them: whether a backup saves a new one has to be decided (saved-jobs.ts). */
const JOB_COLUMNS = `
  blocked boolean, blocking boolean, completed_on timestamp with time zone, created_on timestamp with time zone, data jsonb,
  dead_letter text, deletion_seconds integer, expire_seconds integer, group_id text, group_tier text,
  heartbeat_on timestamp with time zone, heartbeat_seconds integer, id uuid, keep_until timestamp with time zone, name text,
  output jsonb, pending_dependencies integer, policy text, priority integer, retry_backoff boolean, retry_count integer,
  retry_delay integer, retry_delay_max integer, retry_limit integer, singleton_key text,
  singleton_on timestamp without time zone, source_created_on timestamp with time zone, source_id uuid, source_name text,
  source_output jsonb, source_retry_count integer, source_root_id uuid, start_after timestamp with time zone,
  started_on timestamp with time zone, state queue.job_state`

/** Those that jobs take over (job-sql.ts). */
const QUEUE_COLUMNS = `
  dead_letter text, deletion_seconds integer, expire_seconds integer, heartbeat_seconds integer, name text, policy text,
  retention_seconds integer, retry_backoff boolean, retry_delay integer, retry_delay_max integer, retry_limit integer`

/** For fetching in order, and for finding a job by its id. */
const INDEXES = [
  "(name, priority DESC, created_on, start_after) WHERE ((state < 'active'::queue.job_state) AND (NOT blocked))",
  '(name, id)',
]

function same(actual: unknown, expected: unknown, what: string): void {
  try {
    assert.deepEqual(actual, expected)
  } catch (error) {
    throw new Error(`pg-boss has changed ${what}; Gantry relies on it:\n${(error as Error).message}`)
  }
}

const one = async <Value>(queue: TestQueue['queue'], value: RawBuilder<Value>): Promise<Value> =>
  (await sql<{ value: Value }>`select ${value} as value`.execute(queue.db)).rows[0]!.value

test('its version is pinned, and the one that this contract describes', async () => {
  const root = join(import.meta.dirname, '../../..')
  const read = async (path: string) => JSON.parse(await readFile(join(root, path), 'utf8'))
  same((await read('package.json')).dependencies['pg-boss'], VERSION, 'its version in package.json')
  same((await read('node_modules/pg-boss/package.json')).version, VERSION, 'its installed version')
})

test('its schema has the tables, columns, states, indexes and functions that Gantry names', async (t) => {
  const { queue } = await createTestQueue(t)
  const columnsOf = (table: string, names: string) =>
    one(
      queue,
      sql<string>`(select string_agg(attname || ' ' || format_type(atttypid, null), ', ' order by attname)
        from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped
          and (${names} = '' or attname = any(regexp_split_to_array(${names}, '[ ,\n]+'))))`,
    )
  const flat = (columns: string) => columns.trim().replaceAll(/\s+/g, ' ')
  same(await columnsOf('queue.job', ''), flat(JOB_COLUMNS), 'the columns of queue.job')
  same(await columnsOf('queue.queue', QUEUE_COLUMNS), flat(QUEUE_COLUMNS), 'the columns of queue.queue')
  const states = ['created', 'retry', 'active', 'completed', 'cancelled', 'failed']
  same(await one(queue, sql`enum_range(null::queue.job_state)::text[]`), states, 'the order of its states')
  same(await one(queue, sql`pg_typeof(queue.job_now())::text`), 'timestamp with time zone', 'its clock')
  const indexes = await one(
    queue,
    sql<string[]>`array(select substring(indexdef from ' USING btree (.*)') from pg_indexes
      where schemaname = 'queue' and tablename in ('job', 'job_common'))`,
  )
  for (const index of INDEXES) same(indexes.includes(index), true, `the index on ${index}`)
})

test('a job added by a larger statement equals one that it inserts', async (t) => {
  const { queue } = await createTestQueue(t)
  const payload = `jsonb_build_object('action_ids', jsonb_build_array(7))`
  await queue.db.transaction().execute((trx) => queue.enqueue(trx, 'actions.run', [{ action_ids: [7] }]))
  await sql.raw(`with ${addingJob('actions.run', payload)} select 1`).execute(queue.db)
  const { rows } = await sql`
    select to_jsonb(job) - 'id' - 'start_after' - 'created_on' - 'keep_until' as job,
      keep_until - created_on as kept, start_after - created_on as wait from queue.job`.execute(queue.db)
  assert.equal(rows.length, 2)
  same(rows[0], rows[1], 'what an inserted job is')
})

test('inserted jobs are announced with their name when the transaction commits', async (t) => {
  const { queue, settings, enqueue } = await createTestQueue(t)
  const listener = await openListener(settings, { onError: () => {} })
  const announced = Promise.withResolvers<string>()
  await listener.subscribe(WAKE_CHANNEL, { onNotify: announced.resolve, onReconnect() {} })
  const rolledBack = queue.db.transaction().execute(async (trx) => {
    await queue.enqueue(trx, 'test.hasty', [{ number: 1 }])
    throw new Error('rolled back')
  })
  await assert.rejects(rolledBack, /rolled back/)
  await enqueue('test.count')
  const name = await announced.promise
  await listener.close()
  same(name, 'test.count', 'how it announces jobs')
})

test('fetchJobs leaves a job as its own fetch does, at first and again', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.count', 2)
  for (const attempt of [0, 1]) {
    const [own] = await fetchJobs(queue, 'test.count', null, 1)
    const [theirs] = await queue.boss.fetch('test.count', { batchSize: 1 })
    same([own!.retryCount, theirs!.retryCount], [attempt, attempt], 'how it counts attempts')
    const { rows } = await sql<{ job: unknown }>`
      select to_jsonb(job) - 'id' - 'data' - 'start_after' - 'created_on' - 'keep_until' - 'started_on' - 'heartbeat_on'
        || jsonb_build_object('started', started_on is not null, 'beats', heartbeat_on is not null) as job
      from queue.job where name = 'test.count'`.execute(queue.db)
    assert.equal(rows.length, 2)
    same(rows[0]!.job, rows[1]!.job, 'what a fetched job is')
    await sql`update queue.job set state = 'retry'`.execute(queue.db)
  }
})

test('its fetch skips jobs that a transaction has locked', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.count', 2)
  await queue.db.transaction().execute(async (trx) => {
    await sql`select from queue.job limit 1 for update`.execute(trx)
    const fetched = await queue.boss.fetch('test.count', { batchSize: 10 })
    same(fetched.length, 1, 'FOR UPDATE SKIP LOCKED of its fetch')
  })
})

test('its writes affect only the attempt that they name, and list the affected ids', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  const { boss } = queue
  await enqueue('test.count', 4)
  const writes = {
    touch: (jobs: Attempt[]) => boss.touch('test.count', jobs),
    complete: (jobs: Attempt[]) => boss.complete('test.count', jobs),
    fail: (jobs: Attempt[]) => boss.fail('test.count', jobs, { message: 'failed' }),
    deleteJob: (jobs: Attempt[]) => boss.deleteJob('test.count', jobs),
  }
  for (const [name, write] of Object.entries(writes)) {
    const [job] = await boss.fetch('test.count')
    const { id, retryCount } = job!
    same(affectedIds(await write([{ id, retryCount: retryCount + 1 }])), [], `the fence of ${name}`)
    same(affectedIds(await write([{ id, retryCount }])), [id], `the ids that ${name} returns`)
  }
})

test('a failed job is retried after its delay, and its last failure makes it a dead letter', async (t) => {
  const { queue, enqueue } = await createTestQueue(t)
  await enqueue('test.delayed')
  for (const attempt of [0, 1, 2]) {
    const [job] = await queue.boss.fetch('test.delayed', { ignoreStartAfter: true })
    await queue.boss.fail('test.delayed', [job!], { message: `failure ${attempt}` })
    const { rows } = await sql`
      select state, start_after > queue.job_now() + interval '0.5 s' as waits from queue.job
      where name = 'test.delayed'`.execute(queue.db)
    if (attempt < 2) same(rows, [{ state: 'retry', waits: true }], 'how it retries')
  }
  const { rows } = await sql`
    select source_name, source_retry_count, source_output ->> 'message' as error, data, state,
      source_created_on < created_on as later from queue.job where name = ${DEAD_LETTERS}`.execute(queue.db)
  const failed = { source_name: 'test.delayed', source_retry_count: 2, error: 'failure 2' }
  same(rows, [{ ...failed, data: { number: 0 }, state: 'created', later: true }], 'what a dead letter is')
})

test('its policies reject a second job: short while the first waits, exclusive also while it runs', async (t) => {
  const { queue } = await createTestQueue(t)
  const add = async (name: string) =>
    ((await queue.boss.insert(name, [{ data: {} }], { returnId: true })) ?? []).length
  for (const [name, whileRunning] of [
    ['queue.probe', 1],
    ['test.periodic', 0],
  ] as const) {
    same([await add(name), await add(name)], [1, 0], `the policy of ${name}`)
    await queue.boss.fetch(name)
    same(await add(name), whileRunning, `the policy of ${name} for a running job`)
  }
})
