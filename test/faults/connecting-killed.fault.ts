// Gantry's own process killed by -9 at each request to a host and each store of connecting, rotating and disconnecting: after a
// restart every hook is connected by exactly one webhook, which has its secret, or by none once it is disconnected.
import assert from 'node:assert/strict'
import { after, afterEach, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { hookFor, type Provider, type Shown, startHost, TOKEN } from '#test/support/connections.ts'
import { freePort } from '#test/support/ports.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'

const port = String(await freePort())
const world = await openRunWorld(
  { after },
  {
    roles: ['all'],
    environment: {
      // A restarted process is where the one before it was.
      PORT: port,
      GANTRY_URL: `http://127.0.0.1:${port}`,
      GANTRY_ALLOW_TARGETS: '127.0.0.0/8',
      GANTRY_DELIVERY_POLL_MS: '50',
    },
  },
)
const { db, ask } = world

/** A repository at each host, and a pipeline for it. */
const places = await Promise.all(
  (['github', 'gitlab', 'gitea'] as const).map(async (provider) => {
    const host = await startHost({ after }, provider as Provider)
    const credential = await ask('POST', `/organizations/${world.organizationId}/credentials`, {
      ...{ name: provider, provider_code: provider, base_url: host.url, token: TOKEN },
    })
    assert.equal(credential.status, 201, JSON.stringify(credential.body))
    const { pipelineId } = await world.makeDeployable({
      repository: `${host.url}/acme/shop.git`,
      application: { credential_id: credential.body.id },
    })
    return { provider, host, pipelineId }
  }),
)
type Place = (typeof places)[number]
type Hooks = Map<Place, Shown>

async function each<Result>(work: (place: Place) => Promise<Result>): Promise<Map<Place, Result>> {
  return new Map(await Promise.all(places.map(async (place) => [place, await work(place)] as const)))
}

const create = () =>
  each(async ({ provider, pipelineId }): Promise<Shown> => {
    const input = { ...hookFor(provider), connect: true }
    const { status, body } = await ask('POST', `/pipelines/${pipelineId}/hooks/incoming`, input)
    assert.equal(status, 201, JSON.stringify(body))
    return body
  })

/** With their new secrets. */
async function rotate(hooks: Hooks): Promise<Hooks> {
  return each(async (place) => {
    const { id, url } = hooks.get(place)
    const { status, body } = await ask('POST', `/hooks/incoming/${id}/rotate-secret`, {})
    assert.equal(status, 200, JSON.stringify(body))
    return { id, url, secret: body.secret }
  })
}

const disconnect = (hooks: Hooks) =>
  each(async (place) => {
    const { status } = await ask('DELETE', `/hooks/incoming/${hooks.get(place).id}/connection`)
    assert.equal(status, 204)
  })

/** As hosts have them, however they name their settings. */
const webhooksAt = ({ host }: Place) =>
  host.hooks.webhooks.map((webhook) => {
    if ('config' in webhook) return { url: webhook.config.url, secret: webhook.config.secret }
    return { url: webhook.url, secret: 'token' in webhook ? webhook.token : webhook.secret }
  })

async function assertConnected(hooks: Hooks): Promise<void> {
  const states = sql<{ left: string }>`
    select provider || ' ' || state || ' ' || task || coalesce(': ' || problem, '') as left from hook_connections
    where state <> 'connected' or task <> 'check' or leased_until is not null`
  let left: unknown
  await until('every hook is connected', 30_000, async () => {
    left = (await states.execute(db)).rows
    return (left as unknown[]).length === 0
  }).catch((error: Error) => assert.fail(`${error.message}: ${JSON.stringify(left)}`))
  for (const [place, { url, secret }] of hooks)
    assert.deepEqual(webhooksAt(place), [{ url, secret }], place.provider)
}

async function assertDisconnected(): Promise<void> {
  await until('no webhook is left to be removed', 30_000, async () => {
    const { rows } = await sql`select from webhook_removals`.execute(db)
    return rows.length === 0
  })
  for (const place of places) assert.deepEqual(webhooksAt(place), [], place.provider)
}

/** The process is killed, and what it had claimed is not waited for. */
async function restart(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
  await world.processes[0]!.kill()
  await meanwhile()
  await sql`update hook_connections set leased_until = null`.execute(db)
  await sql`update webhook_removals set leased_until = null`.execute(db)
  world.processes[0] = await world.start('all')
}

const held = ({ host }: Place) => host.requests.filter(({ status }) => status === null).length

/** Kills the process while a request of this call is under way at each host. */
async function killDuring(
  callAt: (provider: Provider) => string,
  performed: boolean,
  act: () => Promise<unknown>,
): Promise<void> {
  const before = new Map(places.map((place) => [place, held(place)]))
  for (const { host, provider } of places) host.fail({ call: callAt(provider), performed, answer: 'none' })
  await act()
  await until('each host has such a request', 30_000, () =>
    places.every((place) => held(place) > before.get(place)!),
  )
  await restart()
}

/** Kills the process when all that it still has to do is to store something of each connection. */
async function killBeforeStoring(act: () => Promise<unknown>): Promise<void> {
  const client = new pg.Client(world.settings)
  await client.connect()
  await client.query('select pg_advisory_lock($1)', [LOCK])
  try {
    await act()
    await until('every store waits', 30_000, async () => (await waiting()).length === places.length)
    await restart(async () => {
      await endWaiting()
      await client.query('select pg_advisory_unlock($1)', [LOCK])
    })
  } finally {
    await client.end()
  }
}

const LOCK = 4_711
await sql
  .raw(
    `create function wait_to_store() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(${LOCK});
        return new;
      end
    $$`,
  )
  .execute(db)
await sql
  .raw(`create trigger wait_to_store before update of replaced on hook_connections
    for each row execute function wait_to_store()`)
  .execute(db)

async function waiting(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted`.execute(db)
  return rows.map(({ pid }) => pid)
}

/** Otherwise the database would perform what a dead process had sent. */
async function endWaiting(): Promise<void> {
  await sql`select pg_terminate_backend(pid) from unnest(${await waiting()}::int[]) as w (pid)`.execute(db)
  await until('nothing waits to be stored', 15_000, async () => (await waiting()).length === 0)
}

/** Nothing of one test is left in the next. In each suite, because files share a process. */
const removeAll = () =>
  afterEach(async () => {
    const { rows } = await sql<{ id: string }>`select id from hooks where deleted_at is null`.execute(db)
    for (const { id } of rows) await ask('DELETE', `/hooks/incoming/${id}`)
    await assertDisconnected()
  })

const NOT_YET = 'before it has taken effect'
const KNOWN_THERE = 'when it has, but Gantry does not know'
const MOMENTS = { [NOT_YET]: false, [KNOWN_THERE]: true }

suite('hooks of three hosts that are being connected, and Gantry killed by -9', () => {
  removeAll()

  const ASKED: [call: string, performed: boolean][] = [
    ['list webhooks', false],
    ['create webhook', false],
    ['create webhook', true],
  ]
  for (const [call, performed] of ASKED)
    test(`while it asks to ${call}, ${performed ? KNOWN_THERE : NOT_YET}`, async () => {
      let hooks: Hooks = new Map()
      await killDuring(
        () => call,
        performed,
        async () => {
          hooks = await create()
        },
      )
      await assertConnected(hooks)
    })

  test('before it stores that they are', async () => {
    let hooks: Hooks = new Map()
    await killBeforeStoring(async () => {
      hooks = await create()
    })
    await assertConnected(hooks)
  })
})

suite('connected hooks of three hosts whose secrets are being rotated, and Gantry killed by -9', () => {
  removeAll()

  /** Gitea replaces webhooks: one that it changes keeps its old secret. */
  const STEPS: Record<string, (provider: Provider) => string> = {
    'change or remove a webhook': (provider) => (provider === 'gitea' ? 'remove webhook' : 'change webhook'),
    'change or create a webhook': (provider) => (provider === 'gitea' ? 'create webhook' : 'change webhook'),
  }
  for (const [step, callAt] of Object.entries(STEPS))
    for (const [moment, performed] of Object.entries(MOMENTS))
      test(`while it asks to ${step}, ${moment}`, async () => {
        let hooks = await create()
        await assertConnected(hooks)
        await killDuring(callAt, performed, async () => {
          hooks = await rotate(hooks)
        })
        await assertConnected(hooks)
      })

  test('before it stores that they were, or which webhook it replaces', async () => {
    let hooks = await create()
    await assertConnected(hooks)
    await killBeforeStoring(async () => {
      hooks = await rotate(hooks)
    })
    await assertConnected(hooks)
  })
})

suite('hooks of three hosts that are being disconnected, and Gantry killed by -9', () => {
  removeAll()

  for (const [moment, performed] of Object.entries(MOMENTS))
    test(`while it asks to remove a webhook, ${moment}`, async () => {
      const hooks = await create()
      await assertConnected(hooks)
      await killDuring(
        () => 'remove webhook',
        performed,
        () => disconnect(hooks),
      )
      await assertDisconnected()
    })
})
