// A process of Gantry that gets more calls than it can take, and what must be true of the answers and of its memory.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { startCalled } from '#test/support/called-gantry.ts'
import { testServer } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { call } from '#test/support/process.ts'

const MAX_MEMORY_MIB = 512
export const payloadOf = (bytes: number) =>
  JSON.stringify({ ref: 'refs/heads/main', text: 'x'.repeat(bytes) })
const PAYLOAD = payloadOf(7_000)

type Called = Awaited<ReturnType<typeof startBusy>>
type Answer = { status: number; retryAfter: string | undefined; actionId: number | undefined }

/** Its runs are none of this test's business: no worker takes them. */
export async function startBusy(t: TestContext, databaseUrl: string, more: Record<string, string> = {}) {
  const { gantry, token, get } = await startCalled(t, databaseUrl, { GANTRY_ROLE: 'api', ...more })
  const { body: hook } = await call(gantry, 'POST', '/pipelines/1/hooks/incoming', {
    token,
    body: {
      name: 'Busy',
      requires_secret: false,
      settings: { rate_limit: { per_second: 1_000_000, burst: 1_000_000 } },
    },
  })
  const url = new URL(new URL(hook.url).pathname, gantry.url)
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  later(t, async () => agent.destroy())
  return { gantry, get, hookId: hook.id as string, url, agent }
}

/** One call; null when the connection was lost. */
export function send({ url, agent }: Called, delivery: string, payload = PAYLOAD): Promise<Answer | null> {
  const { promise, resolve } = Promise.withResolvers<Answer | null>()
  const headers = { 'content-type': 'application/json', 'x-github-delivery': delivery }
  const outgoing = request(url, { method: 'POST', agent, headers }, async (response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of response) chunks.push(chunk)
      const { action_id } = JSON.parse(Buffer.concat(chunks).toString())
      resolve({
        status: response.statusCode!,
        retryAfter: response.headers['retry-after'],
        actionId: action_id,
      })
    } catch {
      resolve(null)
    }
  })
  outgoing.on('error', () => resolve(null))
  outgoing.end(payload)
  return promise
}

export const sendMany = (gantry: Called, name: string, count: number, payload = PAYLOAD) =>
  Promise.all(Array.from({ length: count }, (_, n) => send(gantry, `${name}-${n}`, payload)))

/** What was answered: 202 or a 503 with the time to wait; returns the actions of the accepted. */
export function accepted(t: TestContext, what: string, answers: (Answer | null)[]): number[] {
  for (const answer of answers) {
    assert.ok(answer === null || [202, 503].includes(answer.status), String(answer?.status))
    if (answer?.status === 503) assert.ok(Number(answer.retryAfter) > 0, 'a 503 says when to come back')
  }
  const ids = answers.flatMap((answer) => (answer?.status === 202 ? [answer.actionId!] : []))
  const lost = answers.filter((answer) => answer === null).length
  t.diagnostic(
    `${what}: ${ids.length} accepted, ${answers.length - ids.length - lost} refused, ${lost} cut off`,
  )
  assert.equal(new Set(ids).size, ids.length, 'no two calls share an action')
  return ids
}

export async function queryIn(database: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ ...testServer(), database })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

type Query = (text: string) => Promise<Record<string, unknown>[]>

/** Each of the actions is stored, and no call twice. */
export async function storedOnce(query: Query, ids: number[], unanswered: number): Promise<void> {
  const [found] = await query(`
    select count(*)::int as stored, count(*) filter (where id = any('{${ids}}'::bigint[]))::int as answered,
      count(distinct hook_request_id)::int as calls from actions where hook_request_id is not null`)
  const { stored, answered, calls } = found as { stored: number; answered: number; calls: number }
  assert.equal(answered, ids.length, 'each call answered with 202 has its action')
  assert.equal(calls, stored, 'no call has two actions')
  assert.ok(stored <= ids.length + unanswered, `${stored} actions for ${ids.length} calls`)
}

export async function memoryStaysBounded(t: TestContext, { gantry }: Called): Promise<void> {
  const status = await readFile(`/proc/${gantry.child.pid}/status`, 'utf8')
  const peak = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)![1]) / 1024)
  t.diagnostic(`at most ${peak} MiB of memory`)
  assert.ok(peak < MAX_MEMORY_MIB, `${peak} MiB`)
}
