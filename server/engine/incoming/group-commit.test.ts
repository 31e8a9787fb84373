import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import type { StoredCall } from './commit-calls.ts'
import { createGroupCommit } from './group-commit.ts'
import type { CallToStore } from './insert-calls.ts'

/** A numbered call with a result; the group commit reads only its version and its body. */
type Numbered = CallToStore & { record: { id: string } }
const callOf = (n: number, version = 1, bytes = 0): Numbered =>
  ({ version, record: { id: String(n), request_body: Buffer.alloc(bytes) } }) as Numbered
const numberOf = (call: CallToStore) => Number(call.record.id)
const answerTo = (call: CallToStore): StoredCall => ({ kind: 'started', actionId: numberOf(call) })
const away = () => Object.assign(new Error('terminating connection'), { code: '57P01' })

suite('every call is answered', () => {
  test('exactly once, with its own result, whatever else fails', async () => {
    const world = fc.record({
      calls: fc.array(
        fc.record({ bad: fc.boolean(), version: fc.integer({ min: 1, max: 2 }), wait: fc.nat(3) }),
        {
          minLength: 1,
          maxLength: 60,
        },
      ),
      turns: fc.nat(3),
    })
    await fc.assert(
      fc.asyncProperty(world, async ({ calls, turns }) => {
        const committed: number[] = []
        let running = 0
        const groupCommit = createGroupCommit(async (batch) => {
          running += 1
          assert.ok(running <= 3, 'at most two commits at a time, and one beside a slow one')
          assert.equal(new Set(batch.map(({ version }) => version)).size, 1, 'one version per commit')
          for (let n = 0; n < turns; n += 1) await turn()
          running -= 1
          if (batch.some((call) => calls[numberOf(call)]!.bad)) throw new Error(`bad ${batch.map(numberOf)}`)
          committed.push(...batch.map(numberOf))
          return batch.map(answerTo)
        })
        const answers = await Promise.allSettled(
          calls.map(async ({ version, wait }, n) => {
            for (let k = 0; k < wait; k += 1) await turn()
            return groupCommit.store(callOf(n, version))
          }),
        )
        answers.forEach((answer, n) => {
          if (calls[n]!.bad) {
            assert.ok(answer.status === 'rejected' && answer.reason.message === `bad ${n}`, 'it fails alone')
          } else {
            assert.deepEqual(answer, { status: 'fulfilled', value: { kind: 'started', actionId: n } })
          }
        })
        const good = calls.flatMap(({ bad }, n) => (bad ? [] : [n]))
        assert.deepEqual(
          committed.toSorted((one, other) => one - other),
          good,
          'each committed once',
        )
      }),
    )
  })

  test('calls that arrive together share a commit', async () => {
    const sizes: number[] = []
    const groupCommit = createGroupCommit(async (batch) => {
      sizes.push(batch.length)
      return batch.map(answerTo)
    })
    await Promise.all(Array.from({ length: 300 }, (_, n) => groupCommit.store(callOf(n))))
    assert.deepEqual(
      sizes.toSorted((one, other) => other - one),
      [128, 128, 44],
    )
  })

  test('callers that call again when they are answered come in two groups of the same size', async () => {
    const sizes: number[] = []
    const groupCommit = createGroupCommit(async (batch) => {
      sizes.push(batch.length)
      for (let n = 0; n < 5; n += 1) await turn()
      return batch.map(answerTo)
    })
    const callAgain = async (late: number) => {
      for (let n = 0; n < late; n += 1) await turn()
      for (let n = 0; n < 20; n += 1) {
        await groupCommit.store(callOf(n))
        await turn()
      }
    }
    // Three are ahead of the others.
    await Promise.all(Array.from({ length: 32 }, (_, n) => callAgain(n < 3 ? 0 : 2)))
    const settled = sizes.slice(6, 30)
    assert.ok(
      settled.every((size) => size === 16),
      sizes.join(),
    )
  })

  test('a few calls wait for the commit in flight; many start a second one, and a slow one does not hold the others up', async () => {
    for (const { calls, afterMs, commits } of [
      { calls: 10, afterMs: 0, commits: 1 },
      { calls: 15, afterMs: 0, commits: 1 },
      { calls: 16, afterMs: 0, commits: 2 },
      { calls: 1, afterMs: 60, commits: 2 },
      { calls: 200, afterMs: 0, commits: 2 },
      { calls: 200, afterMs: 60, commits: 3 },
      { calls: 500, afterMs: 60, commits: 3 },
    ]) {
      const { promise, resolve } = Promise.withResolvers<void>()
      let running = 0
      const groupCommit = createGroupCommit(async (batch) => {
        running += 1
        await promise
        return batch.map(answerTo)
      })
      const first = groupCommit.store(callOf(0))
      await turn()
      await turn()
      const begunAt = performance.now()
      while (performance.now() - begunAt < afterMs) await turn()
      const others = Array.from({ length: calls }, (_, n) => groupCommit.store(callOf(n + 1)))
      await turn()
      await turn()
      assert.equal(running, commits, `${calls} calls after ${afterMs} ms`)
      resolve()
      await Promise.all([first, ...others])
    }
  })

  test('a call that waits for a commit does not wait any longer once that is slow', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const groupCommit = createGroupCommit(async (batch) => {
      if (batch[0]!.record.id === callOf(0).record.id) await promise
      return batch.map(answerTo)
    })
    const slow = groupCommit.store(callOf(0))
    await turn()
    await groupCommit.store(callOf(1))
    resolve()
    await slow
  })

  test('a commit never holds more than eight megabytes, unless a single call does', async () => {
    const MIB = 1024 * 1024
    const sizes: number[] = []
    const groupCommit = createGroupCommit(async (batch) => {
      sizes.push(batch.reduce((sum, { record }) => sum + record.request_body!.length, 0))
      return batch.map(answerTo)
    })
    await Promise.all([3, 3, 3, 9, 1].map((size, n) => groupCommit.store(callOf(n, 1, size * MIB))))
    assert.ok(
      sizes.every((size) => size <= 8 * MIB || size === 9 * MIB),
      sizes.join(),
    )
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      19 * MIB,
    )
  })
})

suite('when the database is away', () => {
  test('all calls of the commit are rejected, and none is retried', async () => {
    let commits = 0
    const groupCommit = createGroupCommit(async () => {
      commits += 1
      throw away()
    })
    const answers = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => groupCommit.store(callOf(n))),
    )
    assert.ok(answers.every((answer) => answer.status === 'rejected' && answer.reason.code === '57P01'))
    assert.equal(commits, 1)
  })

  test('the next call is stored as soon as it is back', async () => {
    let isAway = true
    const groupCommit = createGroupCommit(async (batch) => {
      if (isAway) throw away()
      return batch.map(answerTo)
    })
    await assert.rejects(groupCommit.store(callOf(1)))
    isAway = false
    assert.deepEqual(await groupCommit.store(callOf(2)), { kind: 'started', actionId: 2 })
  })

  test('calls that fail together and then one by one are rejected as well', async () => {
    const groupCommit = createGroupCommit(async (batch) => {
      throw batch.length > 1 ? new Error('one of them') : away()
    })
    const answers = await Promise.allSettled([1, 2, 3].map((n) => groupCommit.store(callOf(n))))
    assert.ok(answers.every((answer) => answer.status === 'rejected' && answer.reason.code === '57P01'))
  })
})

suite('overload', () => {
  /** A group commit whose commits end on demand. */
  function stuck() {
    const { promise, resolve } = Promise.withResolvers<void>()
    const groupCommit = createGroupCommit(async (batch) => {
      await promise
      return batch.map(answerTo)
    })
    return { groupCommit, release: resolve }
  }

  test('with 5,000 calls waiting, the next one is rejected immediately, and the waiting ones are unaffected', async () => {
    const { groupCommit, release } = stuck()
    const waiting = Array.from({ length: 5_000 }, (_, n) => groupCommit.store(callOf(n)))
    await assert.rejects(groupCommit.store(callOf(5_000)), { code: 'unavailable' })
    release()
    const answers = await Promise.all(waiting)
    assert.deepEqual(
      answers,
      Array.from({ length: 5_000 }, (_, actionId) => ({ kind: 'started', actionId })),
    )
    assert.deepEqual(await groupCommit.store(callOf(7)), { kind: 'started', actionId: 7 })
  })

  test('with 64 megabytes of bodies waiting, the next call is rejected immediately', async () => {
    const { groupCommit, release } = stuck()
    const large = callOf(0, 1, 16 * 1024 * 1024)
    const waiting = Array.from({ length: 4 }, () => groupCommit.store(large))
    await assert.rejects(groupCommit.store(callOf(1)), { code: 'unavailable' })
    release()
    await Promise.all(waiting)
    assert.deepEqual(await groupCommit.store(callOf(2)), { kind: 'started', actionId: 2 })
  })
})

suite('a commit that fails because of an outage', () => {
  test('is looked up, while the next batch goes on', async () => {
    const found = Promise.withResolvers<StoredCall[]>()
    let commits = 0
    const groupCommit = createGroupCommit(
      async (batch) => {
        commits += 1
        if (commits === 1) throw away()
        return batch.map(answerTo)
      },
      () => found.promise,
    )
    const first = groupCommit.store(callOf(1))
    await turn()
    await turn()
    assert.deepEqual(await groupCommit.store(callOf(2)), { kind: 'started', actionId: 2 })
    found.resolve([{ kind: 'started', actionId: 1 }])
    assert.deepEqual(await first, { kind: 'started', actionId: 1 })
    assert.equal(commits, 2, 'it is not committed again')
  })
})
