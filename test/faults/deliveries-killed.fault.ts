// Thousands of runs are told to receivers that fail, while the worker is killed again and again and the database
// goes away: everything arrives, in order, and no secret stays behind.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import { startEmbeddedPostgres } from '#database/embedded/start.ts'
import type { Status } from '#database/tables.ts'
import { messageId } from '#outgoing/try-delivery.ts'
import { later } from '../later.ts'
import { type GantryProcess, temporaryHome } from '../process.ts'
import { openRunWorld } from '../run-world.ts'
import { until } from '../until.ts'
import { type Arrival, addressOf, isFinal, openFailingReceiver } from './failing-receiver.ts'
import { createLeakSearch, searchTable } from './leaks.ts'
import { moveActions, persist, shortenPauses } from './moving-actions.ts'

const ACTIONS = 2_000
const MOST_WAITING = 600
const MOST_MS = 60_000
const DRAINED_WITHIN_MS = 180_000
const TABLES = ['hook_requests', 'deliveries', 'events', 'actions', 'queue.job']

const all = { after }
const databaseHome = await temporaryHome(all)
// Nothing is lost when only processes end, and the disk is spared.
const startDatabase = () => startEmbeddedPostgres({ home: databaseHome, settings: { fsync: 'off' } })
let server = await startDatabase()
later(all, () => server.stop())
const world = await openRunWorld(all, {
  roles: ['api'],
  database: server.connection,
  environment: { LOG_LEVEL: 'debug' },
})
const { db, ask } = world
const secrets: Record<string, string> = { token: `ghp_${randomBytes(20).toString('base64')}+/=&"%` }
const receiver = await openFailingReceiver(all, tellSecrets)
const { arrivals } = receiver

let hooks: Awaited<ReturnType<typeof makeHooks>>
let workers = 0
let worker: GantryProcess
const processes = [...world.processes]

/** What the last worker that was killed had under way, when the next one had begun. */
let left: { id: string; leased_until: string }[] = []
let tookOverAt = 0
let ends: Map<number, Status>

suite('the worker is killed five times and the database restarted twice while it delivers', () => {
  before(async () => {
    const startedAt = performance.now()
    hooks = await makeHooks()
    worker = await startWorker()
    const moving = moveActions(db, hooks.place, { count: ACTIONS, keepPace })
    await Promise.all([moving, causeFaults()])
    ends = await moving
    await until('everything is delivered', DRAINED_WITHIN_MS, () => persist(isDrained))
    assert.equal(await worker.stop(), 0)
    console.log(`all over after ${Math.round((performance.now() - startedAt) / 1_000)} s`)
  })

  test('every end arrives at every hook, and what does not arrive was replaced by an end', async (t) => {
    const deliveries = await db.selectFrom('deliveries').select(['id', 'state', 'is_final']).execute()
    const came = new Set(arrivals.map((arrival) => arrival.messageId))
    const superseded = deliveries.filter(({ state }) => state === 'superseded')
    const missing = deliveries.filter(({ id }) => !came.has(messageId(id)))
    t.diagnostic(
      `${arrivals.length} arrivals, ${came.size} distinct messages, ${arrivals.length - came.size} duplicates, ` +
        `${superseded.length} superseded, of which ${missing.length} never arrived`,
    )
    const toldEnds = new Set(arrivals.map(({ hook, actionId, status }) => `${hook} ${actionId} ${status}`))
    const untold = [...ends].flatMap(([id, status]) =>
      hooks.names
        .filter((hook) => !toldEnds.has(`${hook} ${id} ${status}`))
        .map((hook) => ({ hook, id, status })),
    )
    assert.equal(ends.size, ACTIONS)
    assert.ok(superseded.length > 0, 'the receiver fails often enough')
    none(untold)
    none(missing.filter(({ state, is_final }) => state !== 'superseded' || is_final))
    none(deliveries.filter(({ state }) => !['delivered', 'superseded'].includes(state)))
    assert.equal(deliveries.length, expectedMessages())
  })

  test('the messages of one action and hook arrive in the order of their events', () => {
    const lanes = Object.values(Object.groupBy(arrivals, ({ hook, actionId }) => `${hook} ${actionId}`))
    for (const lane of lanes) {
      const order = lane!.map(({ eventId }) => eventId)
      assert.deepEqual(
        order,
        order.toSorted((one, other) => one - other),
        describe(lane!),
      )
      const firstEnd = lane!.findIndex(isFinal)
      assert.ok(lane!.slice(firstEnd).every(isFinal), describe(lane!))
    }
  })

  test('copies of a message share its id, and no two messages do', () => {
    const ids = new Map<string, string>()
    const messages = new Map<string, string>()
    for (const arrival of arrivals) {
      const message = `${arrival.hook} ${arrival.eventId} ${arrival.actionId} ${arrival.status}`
      assert.equal(ids.getOrInsert(message, arrival.messageId), arrival.messageId)
      assert.equal(messages.getOrInsert(arrival.messageId, message), message)
    }
  })

  test('what a dead worker had under way goes again when its lease has ended, and not before', (t) => {
    const leases = new Map(left.map(({ id, leased_until }) => [messageId(id), Date.parse(leased_until)]))
    const again = arrivals.filter((arrival) => arrival.at > tookOverAt && leases.has(arrival.messageId))
    t.diagnostic(`${left.length} were under way, ${again.length} arrivals of them afterwards`)
    assert.ok(again.some(isFinal))
    none(again.filter((arrival) => arrival.at < leases.get(arrival.messageId)!))
  })

  test('no secret is in a log, a record or an answer', async (t) => {
    const search = createLeakSearch(secrets)
    const witness = createLeakSearch({ mask: '********', receiver: 'no secret at all', hook: hooks.ids[0]! })
    const said = processes.flatMap(({ log, output }) => [...log, ...output])
    const answers = await readAnswers()
    t.diagnostic(`${said.length} lines and ${answers.length} answers searched for ${Object.keys(secrets)}`)
    assert.ok(said.length > arrivals.length / 2, 'attempts are in the log')
    assert.deepEqual(names(witness('log', said)), ['hook'])
    assert.deepEqual(names(witness('answers', answers)), ['hook', 'mask', 'receiver'])
    assert.deepEqual(names(await searchTable(db, 'hook_requests', witness)), ['hook', 'mask', 'receiver'])

    none(search('log', said))
    none(search('answers', answers))
    for (const table of TABLES) none(await searchTable(db, table, search))
  })
})

async function causeFaults(): Promise<void> {
  await killWorker(1_200)
  await crashDatabase(2_400)
  await killWorker(3_600)
  await killWorker(5_000)
  await restartDatabase(6_200)
  await killWorker(7_500)
  left = await killWorker(9_000, { waitsForLeases: true })
  tookOverAt = Date.now()
}

/**
 * Kills the worker while it waits for an answer, and starts another. What it had under way is free at once, as if
 * the time of a lease had passed; or in its time.
 */
async function killWorker(afterArrivals: number, { waitsForLeases = false } = {}): Promise<typeof left> {
  const name = nameOfWorker()
  await receiver.strikeAfter(afterArrivals, () => worker.child.kill('SIGKILL'))
  await worker.kill()
  // The database may still be at the last statement of a process that has gone.
  await until('its connections have ended', MOST_MS, async () => (await countConnections(name)) === 0)
  const leased = await db
    .selectFrom('deliveries')
    .select(['id', sql<string>`leased_until`.as('leased_until')])
    .where('leased_until', 'is not', null)
    .execute()
  assert.ok(leased.length > 0, 'it was killed in the middle of something')
  if (!waitsForLeases)
    await sql`update deliveries set leased_until = now() - interval '1 second' where leased_until is not null`.execute(
      db,
    )
  worker = await startWorker()
  return leased
}

const nameOfWorker = () => `worker-${workers}`

async function startWorker(): Promise<GantryProcess> {
  workers += 1
  const { host, port, user, database } = server.connection
  const DATABASE_URL = `postgres:///${database}?host=${encodeURIComponent(host)}&port=${port}&user=${user}&application_name=${nameOfWorker()}`
  const started = await world.start('worker', { DATABASE_URL })
  processes.push(started)
  return started
}

async function countConnections(name: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity where application_name = ${name}`.execute(db)
  return rows[0]!.count
}

async function restartDatabase(afterArrivals: number): Promise<void> {
  await until('enough has arrived', DRAINED_WITHIN_MS, () => arrivals.length >= afterArrivals)
  await server.stop()
  server = await startDatabase()
}

/** It ends at once, in the middle of every statement, and is started again by whoever watches over it. */
async function crashDatabase(afterArrivals: number): Promise<void> {
  await until('enough has arrived', DRAINED_WITHIN_MS, () => arrivals.length >= afterArrivals)
  const before = await readPostmaster()
  process.kill(before, 'SIGQUIT')
  await until('another has begun', MOST_MS, async () => (await persist(readPostmaster)) !== before)
}

async function readPostmaster(): Promise<number> {
  const { rows } = await sql<{ pid: number }>`
    select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`.execute(db)
  return rows[0]!.pid
}

/** So that there always is something to send, and faults meet all kinds of moves. */
async function keepPace(): Promise<void> {
  await persist(() => shortenPauses(db))
  await until('most is on its way', DRAINED_WITHIN_MS, () =>
    persist(async () => (await countWaiting()) < MOST_WAITING),
  )
}

async function countWaiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from deliveries where state = 'pending' and due_at <= now()`.execute(db)
  return rows[0]!.count
}

async function isDrained(): Promise<boolean> {
  await shortenPauses(db)
  const { rows } = await sql<{ is_drained: boolean }>`
    select not exists (select from deliveries where state = 'pending') as is_drained`.execute(db)
  return rows[0]!.is_drained
}

/** Three hooks that listen to different things, one of which sends the credential's token. */
async function makeHooks() {
  const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const credential = await create(`/organizations/${organizationId}/credentials`, {
    name: 'Source',
    provider_code: 'github',
    token: secrets.token,
  })
  const place = await world.makeDeployable({
    repository: 'https://github.com/acme/shop.git',
    application: { credential_id: credential.id },
  })
  const token = '{{ application.source_provider.access_token }}'
  const wishes = {
    whole: {},
    token: {
      settings: {
        request_headers: [
          { name: 'Authorization', value: `token ${token}` },
          { name: 'X-Token', value: token },
        ],
        request_body: { state: '{{ action.status }}', token },
      },
      trigger_when: { events: ['action.started', 'action.completed', 'action.failed', 'action.skipped'] },
    },
    ends: {
      settings: { request_method: 'PUT', request_body: { state: '{{ action.status }}' } },
      trigger_when: { events: ['action.created', 'action.completed', 'action.failed', 'action.skipped'] },
    },
  }
  const ids: string[] = []
  for (const [name, wish] of Object.entries(wishes)) {
    const target_url = addressOf(receiver.url, name)
    const hook = await create(`/pipelines/${place.pipelineId}/hooks/outgoing`, { name, target_url, ...wish })
    ids.push(hook.id)
    secrets[secretOf(name)] = hook.secret
  }
  return { place, names: Object.keys(wishes), ids }
}

function secretOf(hook: string): string {
  return `secret of ${hook}`
}

/** `whole` hears of every move behind the creation, the others of two each; of a skipped action of one less. */
function expectedMessages(): number {
  const skipped = [...ends.values()].filter((status) => status === 'skipped').length
  return (ends.size - skipped) * (3 + 2 + 2) + skipped * (1 + 1 + 2)
}

async function create(path: string, wish: object) {
  const { status, body } = await ask('POST', path, wish)
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** What people are shown of it all: hooks, lists, and single requests of every outcome. */
async function readAnswers(): Promise<unknown[]> {
  const answers: unknown[] = []
  const read = async (path: string) => {
    const { status, body } = await ask('GET', path)
    assert.equal(status, 200, JSON.stringify(body))
    answers.push(body)
    return body
  }
  for (const id of hooks.ids) {
    await read(`/hooks/outgoing/${id}`)
    for (const page of [1, 2, 3]) await read(`/hooks/outgoing/${id}/requests?per_page=100&page=${page}`)
    const { rows } = await sql<{ id: string; action_id: number }>`
      select id, action_id from (select *, row_number() over (partition by outcome order by id) as number
        from hook_requests where hook_id = ${id}) as numbered where number <= 20`.execute(db)
    for (const request of rows) await read(`/hook-requests/${request.id}`)
    for (const { action_id } of rows.slice(0, 5)) await read(`/actions/${action_id}`)
  }
  return answers
}

/** Everything that the receiver behind a hook was given, in many forms. */
function tellSecrets(hook: string): string {
  const known = [secrets[secretOf(hook)]!, ...(hook === 'token' ? [secrets.token!] : [])]
  const forms = known.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64'),
    Buffer.from(`user:${secret}`).toString('base64'),
    encodeURIComponent(secret),
    JSON.stringify(secret),
  ])
  return ['no secret at all', ...forms].join('\n')
}

/** A failure shows a few of them: of thousands it would take minutes. */
function none(list: unknown[]): void {
  assert.deepEqual(list.slice(0, 5), [])
}

function names(leaks: { secret: string }[]): string[] {
  return [...new Set(leaks.map(({ secret }) => secret))].sort()
}

function describe(lane: Arrival[]): string {
  return lane
    .map(({ hook, actionId, eventId, status }) => `${hook} ${actionId}: ${eventId} ${status}`)
    .join('\n')
}
