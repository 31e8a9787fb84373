// The answers of a service at its limit, given to Octokit's throttling plugin and to Gantry: Gantry never sends the next
// request earlier, and at most five seconds later.
import assert from 'node:assert/strict'
import { after, mock, suite, test } from 'node:test'
import { Octokit } from '@octokit/core'
import { throttling } from '@octokit/plugin-throttling'
import { openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openTokenTree, passPauses, SENDS_TOKEN, startMany } from '#test/support/rate-limits.ts'
import { untilTrue } from '#test/support/until.ts'

type Answer = { status: number; headers?: (nowMs: number) => Record<string, string>; body?: object }

const SECONDARY = { message: 'You have exceeded a secondary rate limit. Please wait a few minutes.' }
const PRIMARY = { message: 'API rate limit exceeded for user ID 1.' }
const reset =
  (seconds: number, remaining = 0) =>
  (nowMs: number) => ({
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.floor(nowMs / 1_000) + seconds),
  })

/** What is answered before the first success. */
const SCRIPTS: Record<string, Answer[]> = {
  'a primary limit': [{ status: 403, headers: reset(90), body: PRIMARY }],
  'a primary limit that ends soon': [{ status: 429, headers: reset(7), body: PRIMARY }],
  'a primary limit of ten minutes': [{ status: 403, headers: reset(600), body: PRIMARY }],
  'a secondary limit with Retry-After': [
    { status: 403, headers: () => ({ 'retry-after': '30' }), body: SECONDARY },
  ],
  'a secondary limit without a time': [{ status: 403, body: SECONDARY }],
  'a secondary limit while the primary one is far': [
    { status: 429, headers: (now) => ({ ...reset(900, 4_000)(now), 'retry-after': '45' }), body: SECONDARY },
  ],
  'one limit after the other': [
    { status: 403, headers: () => ({ 'retry-after': '20' }), body: SECONDARY },
    { status: 403, headers: reset(40), body: PRIMARY },
    { status: 403, body: SECONDARY },
  ],
}

/** For each limited answer, after how many seconds Octokit sends the next request. */
async function octokitWaits(name: string, script: Answer[]): Promise<number[]> {
  const sent: number[] = []
  const fetch = async () => {
    const answer = script[sent.length] ?? { status: 201 }
    sent.push(Date.now())
    const headers = { 'content-type': 'application/json', ...answer.headers?.(Date.now()) }
    return new Response(JSON.stringify(answer.body ?? {}), { status: answer.status, headers })
  }
  const octokit = new (Octokit.plugin(throttling))({
    request: { fetch },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    throttle: { id: name, onRateLimit: () => true, onSecondaryRateLimit: () => true },
  })
  const request = octokit.request('POST /repos/{owner}/{repo}/statuses/{sha}', {
    owner: 'one',
    repo: 'two',
    sha: 'three',
    state: 'success',
  })
  let isOver = false
  const over = request.finally(() => {
    isOver = true
  })
  while (!isOver) {
    mock.timers.tick(100)
    // Whatever the tick set off, timers that are due at once included.
    for (let turn = 0; turn < 4; turn += 1) {
      await new Promise(setImmediate)
      mock.timers.tick(0)
    }
  }
  await over
  return sent.slice(1).map((at, index) => (at - sent[index]!) / 1_000)
}

// Before anything else runs: all timers of the process are Octokit's.
const expected = new Map<string, number[]>()
mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.now() })
for (const [name, script] of Object.entries(SCRIPTS)) expected.set(name, await octokitWaits(name, script))
mock.timers.reset()

const world = await openDeliveries({ after })

suite('compared with Octokit, the next request is not earlier, and at most five seconds later, after', () => {
  for (const [name, script] of Object.entries(SCRIPTS))
    test(name, async (t) => {
      const waits = expected.get(name)!
      assert.equal(waits.length, script.length)
      const receiver = await openReceiver(t)
      let [answered, answeredAt, answeredIn] = [0, 0, 0]
      receiver.behave((_, response) => {
        answeredAt = performance.now()
        answeredIn = currentSecond()
        const answer = script[answered++] ?? { status: 201 }
        response.writeHead(answer.status, answer.headers?.(Date.now())).end(JSON.stringify(answer.body ?? {}))
      })
      const tree = await openTokenTree(world.api, 'token')
      const hook = await world.makeHook({ target_url: receiver.url, ...SENDS_TOKEN }, tree)
      await startMany(world.api, tree, 1)
      for (const [index, seconds] of waits.entries()) {
        await world.recorded(hook.id, index + 1)
        await untilTrue(async () => (await world.deliveries(hook.id))[0]!.leased_until === null)
        // A reset names a whole second: whoever reads it in the next one waits a second less, Octokit too.
        const earliest = seconds - (currentSecond() - answeredIn)
        const ahead = earliest - secondsSince(answeredAt) - 1
        await passPauses(world.api, ahead)
        await new Promise((resolve) => setTimeout(resolve, 150))
        const isEarly = secondsSince(answeredAt) + ahead < earliest
        assert.ok(!isEarly || receiver.arrivals.length === index + 1, 'it was sent earlier')
        await passPauses(world.api, 6)
        await receiver.until(index + 2)
      }
      await untilTrue(async () => (await world.deliveries(hook.id))[0]!.state === 'delivered')
    })
})

const currentSecond = () => Math.floor(Date.now() / 1_000)
const secondsSince = (at: number) => (performance.now() - at) / 1_000
