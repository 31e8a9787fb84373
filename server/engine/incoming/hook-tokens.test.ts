import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openDatabase } from '#platform/database/connect.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createHookTokens, type LeaseTokens, leaseFrom } from './hook-tokens.ts'

const RATE = { perSecond: 100, burst: 200 }

/** One bucket for any number of processes, on a clock that the test moves. */
function openBucket() {
  const clock = { now: 1_000_000, asked: 0 }
  let [tokens, at] = [RATE.burst, clock.now]
  const lease: LeaseTokens = async (_, { perSecond, burst }, want) => {
    clock.asked += 1
    const available = Math.min(burst, tokens + ((clock.now - at) / 1_000) * perSecond)
    const granted = Math.min(Math.floor(available), want)
    tokens = available - granted
    at = clock.now
    return { granted, available }
  }
  const open = () => {
    const process = createHookTokens(lease)
    return { take: () => process.take('hook', RATE, () => clock.now) }
  }
  return { clock, open }
}

async function accepted(takes: (number | Promise<number>)[]): Promise<number> {
  return (await Promise.all(takes)).filter((seconds) => seconds === 0).length
}

suite('the tokens of a hook', () => {
  test('are one burst for all processes together, in few requests', async () => {
    const { clock, open } = openBucket()
    const [one, other] = [open(), open()]
    const takes = Array.from({ length: 300 }, () => [one.take(), other.take()]).flat()
    assert.equal(await accepted(takes), 200)
    assert.ok(clock.asked <= 6, `asked ${clock.asked} times for 600 calls`)
  })

  test('come back at the rate of the hook, for all callers together', async () => {
    const { clock, open } = openBucket()
    const processes = [open(), open(), open()]
    await accepted(Array.from({ length: 900 }, (_, n) => processes[n % 3]!.take()))
    let total = 0
    for (let tick = 0; tick < 100; tick++) {
      clock.now += 100
      total += await accepted(Array.from({ length: 90 }, (_, n) => processes[n % 3]!.take()))
    }
    assert.ok(total > 900 && total <= 1_030, `${total} of about 1000 in ten seconds`)
  })

  test('that a process has leased and not used do not add up to another burst', async () => {
    const { clock, open } = openBucket()
    const [idle, busy] = [open(), open()]
    assert.equal(await idle.take(), 0)
    clock.now += 2_000
    const takes = Array.from({ length: 300 }, () => busy.take())
    assert.equal(await accepted(takes), 200)
    const late = Array.from({ length: 30 }, () => idle.take())
    assert.equal(await accepted(late), 0)
  })

  test('that are used up are refused with the seconds to wait', async () => {
    const { clock, open } = openBucket()
    const one = open()
    await accepted(Array.from({ length: 200 }, () => one.take()))
    const seconds = await one.take()
    assert.ok(seconds >= 1)
    clock.now += 1_000
    assert.equal(await one.take(), 0)
  })

  test('are refused to everyone who waits when the database is away, and asked for again later', async () => {
    let isAway = true
    const tokens = createHookTokens(async () => {
      if (isAway) throw new Error('away')
      return { granted: 1, available: 1 }
    })
    const takes = await Promise.allSettled([tokens.take('hook', RATE), tokens.take('hook', RATE)])
    assert.deepEqual(
      takes.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    isAway = false
    assert.equal(await tokens.take('hook', RATE), 0)
  })
})

test('two processes share the bucket in the database', async (t) => {
  const { settings, drop } = await createTestDatabase()
  const databases = [1, 2].map(() => openDatabase(settings, { onIdleError: () => {} }))
  t.after(async () => {
    await Promise.all(databases.map((database) => database.close()))
    await drop()
  })
  const processes = databases.map(({ db }) => createHookTokens(leaseFrom(db)))
  const hookId = '00000000-0000-4000-8000-000000000001'
  const slow = { perSecond: 0.01, burst: 50 }
  const takes = Array.from({ length: 120 }, (_, n) => processes[n % 2]!.take(hookId, slow))
  assert.equal(await accepted(takes), 50)
})
