import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import pg from 'pg'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import {
  ADMIN_ENVIRONMENT,
  call,
  type GantryProcess,
  logInAsAdmin,
  startGantry,
  temporaryHome,
} from '#test/support/process.ts'

const CALLS = 10_000
const CONNECTIONS = 64
const KILL_AT = [2_000, 5_000, 8_000]

type Hook = { path: string; secret: string; id: string }
type CallAnswer = { status: number; action_id: number | null }

async function createSignedHook(gantry: GantryProcess): Promise<Hook> {
  const token = await logInAsAdmin(gantry)
  const body = {
    name: 'Push',
    requires_secret: true,
    settings: {
      variables: [{ name: 'branch', path: 'ref', type: 'string', required: true }],
      rate_limit: { per_second: 1_000_000, burst: 1_000_000 },
    },
  }
  const hook = await call(gantry, 'POST', '/pipelines/1/hooks/incoming', { token, body })
  return { path: new URL(hook.body.url).pathname, secret: hook.body.secret, id: hook.body.id }
}

/** One signed call; rejects when no answer came. */
function send(agent: Agent, url: string, hook: Hook, delivery: string, payload: string): Promise<CallAnswer> {
  const signature = `sha256=${createHmac('sha256', hook.secret).update(payload).digest('hex')}`
  const { promise, resolve, reject } = Promise.withResolvers<CallAnswer>()
  const outgoing = request(
    new URL(hook.path, url),
    {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
        'x-hub-signature-256': signature,
        'x-github-delivery': delivery,
      },
    },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString())
        resolve({ status: response.statusCode!, action_id: body.action_id ?? null })
      })
    },
  )
  outgoing.on('error', reject)
  outgoing.end(payload)
  return promise
}

test('calls answered with 202 have exactly one action each, although the process is killed three times', async (t) => {
  const environment = { GANTRY_HOME: await temporaryHome(t), ...ADMIN_ENVIRONMENT }
  let gantry = await startGantry(t, environment)
  const hook = await createSignedHook(gantry)
  const promised = new Map<string, number>()
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  t.after(async () => agent.destroy())
  let nextCall = 0
  let unanswered = 0
  let restarting: Promise<void> | undefined
  const kills = [...KILL_AT]

  async function restart(): Promise<void> {
    await gantry.kill()
    gantry = await startGantry(t, environment)
    restarting = undefined
  }
  async function sendCalls(): Promise<void> {
    while (nextCall < CALLS) {
      const number = nextCall++
      if (number >= kills[0]!) {
        kills.shift()
        restarting ??= restart()
      }
      const delivery = randomUUID()
      try {
        const answer = await send(
          agent,
          gantry.url!,
          hook,
          delivery,
          JSON.stringify({ ref: 'refs/heads/main', number }),
        )
        if (answer.status === 202) promised.set(delivery, answer.action_id!)
        else assert.equal(answer.status, 503)
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
        unanswered += 1
        await restarting
      }
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, sendCalls))
  await restarting
  assert.deepEqual(kills, [], 'the process was killed three times')
  assert.equal(await gantry.stop(), 0)

  const server = await startEmbeddedPostgres({ home: environment.GANTRY_HOME })
  t.after(() => server.stop())
  const client = new pg.Client(server.connection)
  await client.connect()
  const one = async (text: string, values: unknown[] = []) =>
    Number((await client.query(text, values)).rows[0].count)
  const ids = [...promised.values()]
  const actions = await one('select count(*) from actions')
  t.diagnostic(`${promised.size} calls answered, ${unanswered} cut off, ${actions} actions stored`)
  assert.equal(new Set(ids).size, ids.length, 'no two calls share an action')
  assert.equal(await one('select count(*) from actions where id = any($1::bigint[])', [ids]), ids.length)
  assert.equal(
    await one(
      'select count(*) from actions a where not exists (select from hook_requests h where h.id = a.hook_request_id and h.action_id = a.id)',
    ),
    0,
  )
  assert.equal(
    await one(
      'select count(*) from actions a where not exists (select from targets t where t.action_id = a.id)',
    ),
    0,
  )
  assert.equal(
    await one(
      'select count(*) from actions a where (select count(*) from events e where e.action_id = a.id and e.previous_status is null) <> 1',
    ),
    0,
  )
  assert.equal(
    await one(`select count(*) from hook_requests where outcome = 'accepted' and action_id is null`),
    0,
  )
  assert.equal(
    await one(
      `select count(*) from actions a where status = 'queued' and not has_place and not exists (
        select from queue.job where name = 'actions.run' and data -> 'action_ids' @> to_jsonb(a.id))`,
    ),
    0,
    'every action has taken its turn, or has a job that will see to it',
  )
  assert.ok(actions >= promised.size && actions <= promised.size + unanswered)
  await client.end()
})

test('a hundred copies of one delivery at two processes start one action, and all get its id', async (t) => {
  const { settings, drop } = await createTestDatabase({ empty: true })
  const environment = {
    GANTRY_HOME: await temporaryHome(t),
    DATABASE_URL: urlOf(settings),
    ...ADMIN_ENVIRONMENT,
  }
  const first = await startGantry(t, environment)
  const second = await startGantry(t, environment)
  const hook = await createSignedHook(first)
  const agent = new Agent({ keepAlive: true, maxSockets: 100 })
  t.after(async () => agent.destroy())
  for (let round = 0; round < 5; round += 1) {
    const delivery = randomUUID()
    const payload = JSON.stringify({ ref: 'refs/heads/main', round })
    const urls = [first.url!, second.url!]
    const copies = Array.from({ length: 100 }, (_, number) =>
      send(agent, urls[number % 2]!, hook, delivery, payload),
    )
    const answers = await Promise.all(copies)
    assert.equal(answers.filter(({ status }) => status === 202).length, 1)
    assert.equal(answers.filter(({ status }) => status === 200).length, 99)
    assert.equal(new Set(answers.map((answer) => answer.action_id)).size, 1)
  }
  assert.equal(await first.stop(), 0)
  assert.equal(await second.stop(), 0)
  await drop()
})
