// Fifty thousand actions: pages stay exact, and cost what they cost with few.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import { BLOCK, countClosedBlocks, findBounds, jumpToOffset } from '#engine/counts/action-blocks.ts'
import type { ActionFilters } from '#model/actions/filters.ts'
import type { Database } from '#platform/database/connect.ts'
import { testServer } from '#test/support/database.ts'
import { addEnvironment, createAction } from '#test/support/world.ts'
import { findPage } from '#views/actions/find-page.ts'
import { ACTIONS, openManyActions, SECOND, START } from './many-actions.ts'

const { db, statements, first, second, third, places, environmentIds, hookId, get } = await openManyActions({
  after,
})

async function settingsOf(of: Database): Promise<pg.ClientConfig> {
  const { rows } = await sql<{ database: string }>`select current_database() as database`.execute(of)
  return { ...testServer(), database: rows[0]!.database }
}

/** Every action that there is, as rarely as possible. */
type Known = { id: number; environment_id: number; created_at: string }
let known: Known[] = []

async function loadKnown(): Promise<void> {
  const { rows } =
    await sql<Known>`select id, environment_id, created_at from actions order by id desc`.execute(db)
  known = rows
}

before(loadKnown)

/** All pages, put together. */
async function walk(ids: number[], filters: ActionFilters, limit: number): Promise<number[]> {
  const found: number[] = []
  for (let offset = 0; ; offset += limit) {
    const { rows, extent } = await findPage(db, ids, filters, { limit, offset })
    found.push(...rows.map((row) => row.id))
    if (!extent.hasMore) return found
  }
}

const naive = (ids: number[], holds: (one: Known) => boolean = () => true) =>
  known.filter((one) => ids.includes(one.environment_id) && holds(one)).map((one) => one.id)

async function assertPagesAreExact(): Promise<void> {
  // A size that does not fit the blocks of a thousand, so that pages begin anywhere in them.
  assert.deepEqual(await walk(environmentIds, {}, 2_999), naive(environmentIds))
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(environmentIds, { minLength: 1 }),
      fc.integer({ min: 0, max: ACTIONS + 500 }),
      async (ids, offset) => {
        const all = naive(ids)
        const { rows, extent } = await findPage(db, ids, {}, { limit: 100, offset })
        assert.deepEqual(
          rows.map((row) => row.id),
          all.slice(offset, offset + 100),
        )
        assert.equal(extent.hasMore, all.length > offset + 100)
      },
    ),
    { numRuns: 25 },
  )
}

async function assertOffsetsAreExact(): Promise<void> {
  const nextId =
    BLOCK *
    (await db.selectFrom('counted_action_blocks').select('next_block').executeTakeFirstOrThrow()).next_block
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(environmentIds, { minLength: 1 }),
      fc.integer({ min: 0, max: ACTIONS + 500 }),
      async (ids, offset) => {
        const all = naive(ids)
        const id = await jumpToOffset(db, ids, offset)
        const head = all.filter((one) => one >= nextId).length
        assert.equal(id, offset < head ? undefined : (all[offset] ?? 0))
      },
    ),
    { numRuns: 40 },
  )
}

async function assertBoundsAreExact(): Promise<void> {
  const moment = fc.option(
    fc
      .integer({ min: -100, max: ACTIONS + 300 })
      .map((second) => new Date(START + second * SECOND).toISOString()),
    { nil: undefined },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(environmentIds, { minLength: 1 }),
      moment,
      moment,
      async (ids, created_after, created_before) => {
        const { from, upTo } = await findBounds(db, ids, { created_after, created_before })
        const wanted = naive(
          ids,
          (one) =>
            (created_after === undefined || one.created_at >= created_after) &&
            (created_before === undefined || one.created_at < created_before),
        )
        const outside = wanted.filter((id) => id < from || id > upTo)
        assert.deepEqual(outside, [], `${from} to ${upTo} leaves something out`)
        if (created_after === undefined || created_before === undefined) return
        const page = await findPage(db, ids, { created_after, created_before }, { limit: 200, offset: 0 })
        assert.deepEqual(
          page.rows.map((row) => row.id),
          wanted.slice(0, 200),
        )
        assert.equal(page.extent.total, Math.min(wanted.length, 10_001))
      },
    ),
    { numRuns: 40 },
  )
}

describe('before any block is counted', () => {
  test('all pages together contain every action once, in order', assertPagesAreExact)
  test('any time gives exact bounds of ids', assertBoundsAreExact)
  test('there is nowhere to jump to', async () => {
    assert.equal(await jumpToOffset(db, environmentIds, 40_000), undefined)
  })
})

describe('once the closed blocks are counted', () => {
  before(() => countClosedBlocks(db))

  test('each block of each environment has its actions, and counting again changes nothing', async () => {
    await countClosedBlocks(db)
    const rows = await db.selectFrom('action_blocks').selectAll().execute()
    const next = await db.selectFrom('counted_action_blocks').select('next_block').executeTakeFirstOrThrow()
    assert.equal(next.next_block, Math.floor(known[0]!.id / BLOCK))
    const counted = known.filter((one) => one.id < next.next_block * BLOCK)
    const key = (block: number, environmentId: number) => `${block} ${environmentId}`
    const groups = Map.groupBy(counted, (one) => key(Math.floor(one.id / BLOCK), one.environment_id))
    assert.equal(rows.length, groups.size)
    for (const row of rows) {
      const group = groups.get(key(row.block, row.environment_id))!
      const times = group.map((one) => one.created_at).sort()
      assert.deepEqual(
        [row.actions, row.first_created_at, row.last_created_at],
        [group.length, times[0], times.at(-1)],
      )
    }
  })

  test('all pages together contain every action once, in order', assertPagesAreExact)
  test('an offset is reached by a jump', assertOffsetsAreExact)
  test('any time gives exact bounds of ids', assertBoundsAreExact)
})

describe('with actions beyond the counted blocks', () => {
  before(async () => {
    await sql`select setval(pg_get_serial_sequence('actions', 'id'), ${known[0]!.id + 2_345})`.execute(db)
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
    for (let number = 0; number < 40; number++) {
      await createAction(
        db,
        { ...places[number % 3]!, serverIds: [] },
        { created_at: minutesAgo(3), credential_id: places[number % 3]!.credentialId },
      )
    }
    await loadKnown()
  })

  test('actions of the last five minutes do not close a block', async () => {
    const before = await db.selectFrom('counted_action_blocks').selectAll().execute()
    await countClosedBlocks(db)
    assert.deepEqual(await db.selectFrom('counted_action_blocks').selectAll().execute(), before)
  })

  test('all pages together contain every action once, in order', assertPagesAreExact)
  test('an offset is reached by a jump', assertOffsetsAreExact)
  test('any time gives exact bounds of ids', assertBoundsAreExact)

  test('pages of the API equal those of a naive list, even deep ones', async () => {
    const all = naive(environmentIds)
    for (const number of [1, 21, 500, 501]) {
      const page = await get(`/actions?per_page=100&page=${number}`)
      assert.deepEqual(
        page.map((one) => one.id),
        all.slice((number - 1) * 100, number * 100),
      )
    }
  })
})

describe('the cost of a page', () => {
  async function statementsOf(query: string): Promise<string[]> {
    statements.length = 0
    await get(`/actions?${query}`)
    return [...statements]
  }

  before(async () => {
    // What the tree says about these actions is in memory from here on.
    for (const place of places)
      await get(`/actions?per_page=100&filter[environment_id]=${place.environmentId}`)
  })

  for (const query of ['', 'filter[status]=completed&', `filter[environment_id]=${first.environmentId}&`]) {
    test(`is the same number of statements for 1, 25 and 100 actions (${query || 'no filter'})`, async (t) => {
      const counts = []
      for (const size of [1, 25, 100]) counts.push((await statementsOf(`${query}per_page=${size}`)).length)
      t.diagnostic(`${counts} statements`)
      assert.deepEqual(counts, [counts[0], counts[0], counts[0]])
      assert.ok(counts[0]! <= 8, `${counts[0]} statements`)
    })
  }

  test('a deep page takes one more statement: the jump', async () => {
    const near = await statementsOf('per_page=100')
    const deep = await statementsOf('per_page=100&page=500')
    assert.equal(deep.length, near.length + 1)
  })

  type Reads = { read: number; fetched: number; scans: number }

  /**
   * Index entries of `actions` that PostgreSQL read for some work, rows that it fetched for them, and its sequential
   * scans.
   */
  async function readsOf(work: (trx: Database) => Promise<unknown>): Promise<Reads> {
    return db.transaction().execute(async (trx) => {
      const before = await readsSoFar(trx)
      await work(trx)
      const after = await readsSoFar(trx)
      return {
        read: after.read - before.read,
        fetched: after.fetched - before.fetched,
        scans: after.scans - before.scans,
      }
    })
  }

  /** Of this connection, since it last reported its counters. */
  async function readsSoFar(trx: Database): Promise<Reads> {
    const { rows } = await sql<Reads>`
      select sum(pg_stat_get_xact_tuples_returned(oid))::bigint as read,
        sum(pg_stat_get_xact_tuples_fetched(oid))::bigint as fetched,
        sum(pg_stat_get_xact_numscans(oid)) filter (where oid = 'actions'::regclass)::bigint as scans
      from (select 'actions'::regclass::oid as oid union all
        select indexrelid from pg_index where indrelid = 'actions'::regclass) as parts`.execute(trx)
    return rows[0]!
  }

  test('page 500 reads no more than a block for each environment beyond what page 1 reads', async (t) => {
    const readsAt = (offset: number) =>
      readsOf((trx) => findPage(trx, environmentIds, {}, { limit: 100, offset }))
    const near = await readsAt(0)
    const deep = await readsAt(49_900)
    t.diagnostic(`page 1 reads ${near.read} entries, page 500 ${deep.read}`)
    assert.ok(deep.read <= near.read + BLOCK + 300, `${deep.read} to ${near.read}`)
  })

  const early = new Date(START + 1_000 * SECOND).toISOString()
  const late = new Date(START + 49_000 * SECOND).toISOString()
  const hot: Record<string, ActionFilters> = {
    'no filter': {},
    'a status': { status: ['failed'] },
    'a status and a type': { status: ['completed'], type: ['deploy'] },
    'a pipeline': { pipeline_id: [first.pipelineId] },
    'a resource': { resource_type: ['server'], resource_id: [first.serverIds[0]!] },
    'a hook': { hook_id: [hookId] },
    'a rare trigger': { trigger_type: ['pipeline'] },
    'the oldest hour': { created_before: early },
    'the newest hour': { created_after: late },
  }
  for (const [name, filters] of Object.entries(hot)) {
    test(`a page by ${name} never scans the actions table`, async (t) => {
      const { read, scans } = await readsOf((trx) =>
        findPage(trx, environmentIds, filters, { limit: 25, offset: 0 }),
      )
      t.diagnostic(`${read} entries read`)
      assert.equal(scans, 0)
      assert.ok(read <= 11_000, `${read} entries read`)
    })
  }

  /** None of them selects much: a pair without an index would have to read everything that one of the two selects. */
  const single: ActionFilters[] = [
    { status: ['failed'] },
    { status: ['skipped'] },
    { type: ['restart'] },
    { resource_type: ['server'] },
    { resource_id: [second.applicationId] },
    { pipeline_id: [third.serverPipelineId] },
    { trigger_type: ['pipeline'] },
    { trigger_type: ['retry'] },
    { trigger_type: ['hook'] },
    { trigger_type: ['hook', 'manual'] },
    { hook_id: [hookId] },
    { user_id: [first.owner.id] },
    { user_id: [third.owner.id] },
    { created_before: early },
    { created_after: late },
    { created_before: new Date(START + 42_500 * SECOND).toISOString() },
    { created_after: new Date(START + 7_500 * SECOND).toISOString() },
  ]
  const pairs = single.flatMap((one, index) =>
    single
      .slice(index + 1)
      .filter((other) => Object.keys(other).every((name) => !(name in one)))
      .map((other) => [one, other] as const),
  )

  const reads = (filters: ActionFilters) =>
    readsOf((trx) => findPage(trx, environmentIds, filters, { limit: 25, offset: 0 }))

  test('any two filters read at most twice as much as one of them', async (t) => {
    const alone = new Map<ActionFilters, number>()
    for (const filters of single) alone.set(filters, (await reads(filters)).read)
    let worst = 0
    for (const [one, other] of pairs) {
      const { read, scans } = await reads({ ...one, ...other })
      const limit = 2 * Math.max(alone.get(one)!, alone.get(other)!) + 200
      worst = Math.max(worst, read / limit)
      assert.equal(scans, 0, JSON.stringify([one, other]))
      assert.ok(read <= limit, `${JSON.stringify([one, other])}: ${read} entries, at most ${limit} expected`)
    }
    t.diagnostic(`${pairs.length} pairs, at worst ${worst.toFixed(2)} of what is allowed`)
  })

  test('a long time and another filter fetch rows only where that time ends', async (t) => {
    await sql`vacuum actions`.execute(db)
    const times = {
      after: { created_after: new Date(START + 7_500 * SECOND).toISOString() },
      before: { created_before: new Date(START + 42_500 * SECOND).toISOString() },
    }
    // Only a look at the run shows whether a hook started it, or whether it is of the hook of the run that it retries.
    const others = single.filter(({ trigger_type }) => !trigger_type?.includes('hook'))
    for (const time of [times.after, times.before, { ...times.after, ...times.before }]) {
      for (const other of [
        {},
        ...others.filter((one) => !('created_before' in one || 'created_after' in one)),
      ]) {
        const { read, fetched, scans } = await reads({ ...time, ...other })
        const of = JSON.stringify({ ...time, ...other })
        t.diagnostic(`${of}: ${read} entries, ${fetched} rows`)
        assert.equal(scans, 0, of)
        assert.ok(fetched <= 2 * BLOCK + 500, `${of}: ${fetched} rows`)
      }
    }
  })

  test('any two filters select what a naive list does', async () => {
    for (const [one, other] of pairs) {
      const filters = { ...one, ...other }
      const { rows } = await findPage(db, environmentIds, filters, { limit: 30, offset: 3 })
      const { rows: expected } = await sql<{ id: number }>`
        select a.id from actions a join pipelines p on p.id = a.pipeline_id where ${sql.join(
          [sql`a.environment_id = any(${environmentIds}::bigint[])`, ...conditionsOf(filters)],
          sql` and `,
        )} order by a.id desc offset 3 limit 30`.execute(db)
      assert.deepEqual(
        rows.map(({ id }) => id),
        expected.map(({ id }) => id),
        JSON.stringify(filters),
      )
    }
  })

  function conditionsOf(filters: ActionFilters): RawBuilder<unknown>[] {
    const columns: Record<string, RawBuilder<unknown>> = {
      status: sql`a.status`,
      type: sql`p.operation`,
      resource_type: sql`p.resource_type`,
      resource_id: sql`coalesce(p.application_id, p.server_id)::text`,
      pipeline_id: sql`p.id::text`,
      trigger_type: sql`a.trigger_type`,
      hook_id: sql`a.hook_id::text`,
      user_id: sql`a.triggered_by::text`,
    }
    return Object.entries(filters).map(([name, value]) => {
      if (name === 'created_after') return sql`a.created_at >= ${value}::timestamptz`
      if (name === 'created_before') return sql`a.created_at < ${value}::timestamptz`
      return sql`${columns[name]!} = any(${(value as unknown[]).map(String)}::text[])`
    })
  }

  /** The plan for any values, which PostgreSQL may come to use for a prepared statement. */
  async function explainGenerically(text: string): Promise<string> {
    const client = new pg.Client(await settingsOf(db))
    await client.connect()
    try {
      const { rows } = await client.query(`explain (generic_plan) ${text}`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    } finally {
      await client.end()
    }
  }

  test('a small environment among large ones costs only its own actions, even with generic plans', async (t) => {
    const small = await addEnvironment(db, third.owner.id, third.projectId, third.credentialId)
    for (let number = 0; number < 5; number++)
      await createAction(db, { ...small, serverIds: [] }, { triggered_by: first.owner.id })
    // After five runs PostgreSQL may plan a prepared statement once and for all.
    const user_id = [first.owner.id, third.owner.id]
    const some: ActionFilters[] = [{}, { status: ['completed'] }, { trigger_type: ['manual'] }, { user_id }]
    for (const filters of some) {
      const { read, scans } = await readsOf(async (trx) => {
        for (let run = 0; run < 8; run++)
          await findPage(trx, [small.environmentId], filters, { limit: 25, offset: 0 })
      })
      t.diagnostic(`${read / 8} entries read`)
      assert.equal(scans, 0)
      assert.ok(read / 8 <= 100, `${read / 8} entries read for 5 actions`)
    }
  })

  test('no statement of a list or a single read plans a sequential scan of actions or targets', async () => {
    statements.length = 0
    for (const query of [
      'page=1',
      'per_page=100&page=500',
      'filter[status]=failed&filter[type]=deploy',
      `filter[hook_id]=${hookId}`,
      `filter[user_id]=${first.owner.id}`,
      'filter[trigger_type]=pipeline',
      'filter[trigger_type]=hook,manual',
      `filter[created_after]=${early}&filter[created_before]=${late}`,
    ]) {
      await get(`/actions?${query}`)
    }
    await get(`/actions/${known[30_000]!.id}`)
    const texts = [...new Set(statements)].filter((text) => /\b(actions|targets)\b/.test(text))
    assert.ok(texts.length >= 8, `${texts.length} different statements`)
    for (const text of texts) {
      const plan = await explainGenerically(text)
      assert.doesNotMatch(plan, /Seq Scan on (actions|targets)\b/, `${text}\n${plan}`)
    }
  })
})
