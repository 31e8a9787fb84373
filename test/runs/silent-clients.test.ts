// A process that stops in the middle of a transaction: what it holds is free within seconds.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { lockScheduling } from '#engine/scheduling/scheduling-pass.ts'
import { lockEnvironment } from '#model/pipelines/lock-environment.ts'
import { openDatabase, type Transaction } from '#platform/database/connect.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createTestTree } from '#test/support/world.ts'

const { settings, drop } = await createTestDatabase()
const [frozen, other] = [1, 2].map(() => openDatabase(settings, { onIdleError: () => {} }))
after(async () => {
  await frozen!.close()
  await other!.close()
  await drop()
})
const { environmentId } = await createTestTree(other!.db)

const FREE_WITHIN_MS = 4_900

suite('a client that falls silent in a transaction', () => {
  const locks: Record<string, (trx: Transaction) => Promise<unknown>> = {
    'the lock that scheduling takes': (trx) => lockScheduling(trx, [environmentId]),
    'the lock under which an environment is changed': (trx) => lockEnvironment(trx, environmentId),
  }
  for (const [name, lock] of Object.entries(locks))
    test(`loses ${name}`, async () => {
      const silence = Promise.withResolvers<void>()
      const locked = Promise.withResolvers<void>()
      const first = frozen!.db.transaction().execute(async (trx) => {
        await lock(trx)
        locked.resolve()
        await silence.promise
        await lock(trx)
      })
      await locked.promise
      const began = performance.now()
      await other!.db.transaction().execute(lock)
      const took = performance.now() - began
      assert.ok(took < FREE_WITHIN_MS, `${took} ms`)
      silence.resolve()
      await assert.rejects(first)
    })
})
