// The database stores how an attempt ended, and the connection breaks before it can say so.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '#platform/database/connect.ts'
import {
  COMPLETED,
  IN_PROGRESS,
  openDeliveries,
  openReceiver,
  startTestDelivering,
} from '#test/support/deliveries.ts'
import { untilTrue } from '#test/support/until.ts'

const all = { after }
const world = await openDeliveries(all, { delivers: false })

test('an attempt whose commit is not acknowledged is stored once, and delays nothing', async () => {
  const { db, hasBroken } = breakAfterStoring(world.api.db)
  await startTestDelivering(all, { ...world.api, db }, { guard: world.guard })
  const receiver = await openReceiver(all)
  const hook = await world.makeHook({
    target_url: receiver.url,
    settings: { request_body: { state: '{{ action.status }}' } },
  })
  const action = await world.startAction()
  await world.move(action, IN_PROGRESS)
  await untilTrue(hasBroken)
  await world.move(action, COMPLETED)
  await receiver.until(2)
  await untilTrue(async () => (await world.deliveries(hook.id)).every(({ state }) => state === 'delivered'))
  const records = await world.requests(hook.id)
  assert.deepEqual(
    records.map(({ outcome, attempt }) => ({ outcome, attempt })),
    [1, 1].map((attempt) => ({ outcome: 'delivered', attempt })),
  )
  assert.equal(receiver.arrivals.length, 2)
})

/** The first time that attempts are stored, the answer does not come back. */
function breakAfterStoring(db: Database): { db: Database; hasBroken: () => boolean } {
  let isBroken = false
  const executeQuery: Database['executeQuery'] = async (query) => {
    const result = await db.executeQuery(query)
    if (isBroken || !('sql' in query) || !/insert into hook_requests[\s\S]*from finished/.test(query.sql))
      return result
    isBroken = true
    throw new Error('Connection terminated unexpectedly')
  }
  const breaking = new Proxy(db, {
    get(target, name) {
      if (name === 'executeQuery') return executeQuery
      const member = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return { db: breaking, hasBroken: () => isBroken }
}
