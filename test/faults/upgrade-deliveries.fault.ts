// Outgoing hooks of 0.1.0 after the migrations of today, with deliveries that have ended and others that wait.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import { signDelivery, signingKey } from '#adapters/http-client/sign.ts'
import { createTestDatabase, testServer } from '#test/support/database.ts'
import { type Arrival, openReceiver } from '#test/support/deliveries.ts'
import { later } from '#test/support/later.ts'
import { freePort } from '#test/support/ports.ts'
import { call, type GantryProcess } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'
import { provideBefore } from './release-before.ts'

const MAX_MS = 30_000
const HOOKS = {
  whole: {},
  templates: {
    settings: {
      request_method: 'PUT',
      request_headers: [{ name: 'X-Run', value: 'run {{ action.id }} of {{ pipeline.name }}' }],
      request_body: { state: '{{ action.status }}', reason: '{{ action.status_reason_human_readable }}' },
    },
  },
  token: {
    settings: {
      request_headers: [
        { name: 'Authorization', value: 'token {{ application.source_provider.access_token }}' },
      ],
      request_body: { state: '{{ action.status }}', commit: '{{ action.id }}' },
    },
    trigger_when: { events: ['action.started', 'action.completed'] },
  },
}
/** At the end of the path: until the upgrade the receiver refuses `waiting`. */
const KINDS = ['ended', 'waiting'] as const
type Kind = (typeof KINDS)[number]

const all = { after }
const { settings, drop } = await createTestDatabase({ empty: true })
later(all, drop)
const world = await openRunWorld(all, {
  roles: ['all'],
  database: { ...testServer(), ...settings },
  // Links of both releases are the same.
  environment: { PORT: String(await freePort()) },
  program: await provideBefore(all),
})
const { db } = world
const receiver = await openReceiver(all)
const secrets = new Map<string, string>()
let gantry: GantryProcess
let pipelineId: number
/** What arrived from 0.1.0. */
let fromBefore: Arrival[]

suite('outgoing hooks of 0.1.0 after the upgrade', () => {
  before(async () => {
    pipelineId = await makePipeline()
    await makeHooks()
    receiver.behave(({ url }, response) => response.writeHead(url!.endsWith('waiting') ? 503 : 200).end())
    await world.completed(await world.run(pipelineId))
    await until('every end was tried', MAX_MS, async () => {
      const { rows } = await sql`select from deliveries where leased_until is not null
        or (state = 'pending' and (attempts = 0 or not is_final))`.execute(db)
      return rows.length === 0
    })
    for (const one of world.processes) assert.equal(await one.stop(), 0)
    fromBefore = [...receiver.arrivals]
    receiver.answer(200)
    gantry = await world.start('all')
  })

  test('what waited is sent once, as it was tried before, byte by byte', async () => {
    assert.equal(await countPending(), Object.keys(HOOKS).length)
    await sql`update deliveries set due_at = now() where state = 'pending'`.execute(db)
    await until('everything is delivered', MAX_MS, async () => (await countPending()) === 0)
    const sent = receiver.arrivals.slice(fromBefore.length)
    assert.equal(sent.length, Object.keys(HOOKS).length, 'nothing that has ended is sent again')
    for (const arrival of sent) assertSame(arrival, lastOf(fromBefore, arrival.path))
    for (const name of Object.keys(HOOKS))
      assert.ok(sent.some(({ path }) => path === pathOf(name, 'waiting')))
  })

  test('what has ended is replayed as it was sent, byte by byte', async () => {
    const known = receiver.arrivals.length
    for (const name of Object.keys(HOOKS)) {
      const original = lastOf(fromBefore, pathOf(name, 'ended'))
      const { id } = await db
        .selectFrom('hook_requests')
        .select('id')
        .where('url', '=', `${receiver.url}${original.path}`)
        .orderBy('id', 'desc')
        .executeTakeFirstOrThrow()
      const replay = await ask('POST', `/hook-requests/${id}/replay`)
      assert.equal(replay.status, 202, JSON.stringify(replay.body))
    }
    await receiver.until(known + Object.keys(HOOKS).length)
    for (const arrival of receiver.arrivals.slice(known))
      assertSame(arrival, lastOf(fromBefore, arrival.path))
  })

  test('a new run is reported by the same requests', async () => {
    const known = receiver.arrivals.length
    const started = await ask('POST', `/pipelines/${pipelineId}/actions`, {})
    assert.equal(started.status, 201, JSON.stringify(started.body))
    const templated = pathOf('templates', 'ended')
    const linesOf = (arrivals: Arrival[], id: number) =>
      arrivals
        .filter(({ path }) => path === templated)
        .map(({ method, headers, body }) => [method, headers['x-run']!.replace(`run ${id} `, 'run '), body])
    const expected = linesOf(fromBefore, 1)
    await until('all have arrived', MAX_MS, () => {
      const lines = linesOf(receiver.arrivals.slice(known), started.body.id)
      return lines.length >= expected.length
    })
    assert.deepEqual(linesOf(receiver.arrivals.slice(known), started.body.id), expected)
  })

  test('nothing is read back, captured or limited, and hooks have no credential of their own', async () => {
    for (const table of ['status_checks', 'captured_values', 'rate_budgets'] as const)
      assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [], table)
    const hooks = await db.selectFrom('hooks').select(['credential_id', 'active']).execute()
    assert.ok(hooks.every(({ credential_id, active }) => credential_id === null && active))
    assert.deepEqual(new Set(receiver.arrivals.map(({ method }) => method)), new Set(['POST', 'PUT']))
    const shown = await ask('GET', '/actions/1/notifications')
    assert.equal(shown.status, 200, JSON.stringify(shown.body))
    for (const { state, remote_state } of shown.body)
      assert.deepEqual([state, remote_state], ['delivered', 'not_checked'])
    assert.equal(shown.body.length, Object.keys(HOOKS).length * KINDS.length)
  })
})

async function makePipeline(): Promise<number> {
  const { id } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const input = { name: 'Source', provider_code: 'github', token: 'ghp_of_the_application' }
  const credential = await world.ask('POST', `/organizations/${id}/credentials`, input)
  assert.equal(credential.status, 201, JSON.stringify(credential.body))
  const made = await world.makeDeployable({
    repository: 'https://github.com/acme/shop.git',
    application: { credential_id: credential.body.id },
    pipeline: { operation: 'custom' },
    steps: [{ name: 'work', command: 'true' }],
  })
  return made.pipelineId
}

async function makeHooks(): Promise<void> {
  for (const kind of KINDS)
    for (const [name, input] of Object.entries(HOOKS)) {
      const path = pathOf(name, kind)
      const body = { name: path, target_url: `${receiver.url}${path}`, ...input }
      const made = await world.ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, body)
      assert.equal(made.status, 201, JSON.stringify(made.body))
      secrets.set(path, made.body.secret)
    }
}

const pathOf = (name: string, kind: Kind) => `/${name}/${kind}`
const lastOf = (arrivals: Arrival[], path: string) => arrivals.findLast((one) => one.path === path)!
const ask = (method: string, path: string, body?: unknown) =>
  call(gantry, method, path, { token: world.owner.token, body })

async function countPending(): Promise<number> {
  const pending = await db.selectFrom('deliveries').select('id').where('state', '=', 'pending').execute()
  return pending.length
}

/** Of the action's newest request, which is part of the event: by then it is another one. */
const NEWEST_REQUEST = /"outgoing":\{[^{}]*\}/
/** The times of sending differ, and so do the signatures; the agent names its release. */
const DIFFERENT = ['webhook-timestamp', 'webhook-signature', 'user-agent', 'content-length']

function assertSame(arrival: Arrival, original: Arrival): void {
  const comparable = ({ method, path, headers, body }: Arrival) => ({
    method,
    path,
    headers: Object.entries(headers).filter(([name]) => !DIFFERENT.includes(name)),
    body: body.replace(NEWEST_REQUEST, ''),
  })
  assert.deepEqual(comparable(arrival), comparable(original))
  const { headers, body, path } = arrival
  const signed = signDelivery({
    id: headers['webhook-id']!,
    timestampSeconds: Number(headers['webhook-timestamp']),
    body,
    keys: [signingKey(secrets.get(path)!)],
  })
  assert.equal(headers['webhook-signature'], signed['webhook-signature'])
}
