import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { createTestMetrics } from '#test/support/metrics.ts'
import { until } from '#test/support/until.ts'
import { createTestTree } from '#test/support/world.ts'

let unrecorded = 0
const { metrics, read: readMetrics } = createTestMetrics()
const world = await openDeliveries(
  { after },
  {
    onAttempt(attempt) {
      if (attempt.next.kind === 'unrecorded') unrecorded += 1
      metrics.work.onAttempt(attempt)
    },
  },
)
const receiver = await openReceiver({ after })
const { db, makeHook, move, requests, untilIdle, startAction } = world

// Stands for anything that the database may refuse about a record.
await sql`alter table hook_requests add constraint refused check (
  response_body is distinct from 'poison'::bytea and url not like '%/unstorable'
  and not (url = '' and method = 'PUT'))`.execute(db)

/** Attempts are reported after their commit: a delivery can be over a moment before. */
async function untilUnrecorded(count: number): Promise<void> {
  await until(`${count} attempts are reported as unrecorded`, 10_000, async () => unrecorded >= count)
  assert.equal(unrecorded, count)
}

/** Hooks of one pipeline: their deliveries are due at the same time and end in the same batches. */
function deliverTo(...targets: string[]) {
  return deliver(targets, { a: 1 })
}

async function deliver(targets: string[], request_body: object) {
  const tree = await createTestTree(db)
  const hooks = await Promise.all(
    targets.map((target) => {
      const [request_method, path] = target.split(' ')
      const settings = { request_method, request_body }
      return makeHook({ target_url: receiver.url + path, settings }, tree)
    }),
  )
  // Requests that need its token are blocked.
  await db.updateTable('credentials').set({ active: false }).where('id', '=', tree.credentialId).execute()
  await move(await startAction(tree), IN_PROGRESS)
  return Promise.all(
    hooks.map(async ({ id }) => ({ deliveries: await untilIdle(id), records: await requests(id) })),
  )
}

receiver.behave((request, response) => response.end(request.url === '/poison' ? 'poison' : 'thanks'))

suite('an attempt that the database refuses to store', () => {
  test('is stored without bodies and headers, and the rest of its batch in full', async () => {
    const results = await deliverTo('POST /fine', 'POST /poison', 'POST /also-fine')
    for (const { deliveries } of results) assert.ok(deliveries.every(({ state }) => state === 'delivered'))
    const [fine, poison, alsoFine] = results.map(({ records }) => records.at(-1)!)
    for (const record of [fine!, alsoFine!]) assert.equal(String(record.response_body), 'thanks')
    assert.equal(poison!.outcome, 'delivered')
    assert.equal(poison!.response_status_code, 200)
    const { request_body, request_headers, response_body, response_headers } = poison!
    assert.deepEqual(
      [request_body, request_headers, response_body, response_headers],
      [null, null, null, null],
    )
    assert.equal(unrecorded, 0)
  })

  test('fails its delivery with a reason when it cannot be stored without bodies either', async () => {
    unrecorded = 0
    const [fine, unstorable] = await deliverTo('POST /fine', 'POST /unstorable')
    assert.ok(fine!.deliveries.every(({ state }) => state === 'delivered'))
    assert.ok(unstorable!.deliveries.length > 0)
    assert.ok(unstorable!.deliveries.every(({ state }) => state === 'failed'))
    assert.equal(unstorable!.records.length, unstorable!.deliveries.length)
    for (const record of unstorable!.records) {
      assert.equal(record.outcome, 'unrecorded')
      assert.match(record.error!, /^This attempt \(delivered\) could not be stored.*23514/)
      assert.equal(record.next_attempt_at, null)
    }
    await untilUnrecorded(unstorable!.deliveries.length)
    const failed = (await readMetrics()).get('gantry_unrecorded_deliveries_total')
    assert.equal(failed, unrecorded)
  })

  test('gives its outcome also when nothing was sent', async () => {
    unrecorded = 0
    const token = '{{ application.source_provider.access_token }}'
    const [blocked] = await deliver(['POST /unstorable'], { token })
    assert.ok(blocked!.deliveries.every(({ state }) => state === 'failed'))
    assert.ok(blocked!.records.length > 0)
    for (const { outcome, error } of blocked!.records) {
      assert.equal(outcome, 'unrecorded')
      assert.match(error!, /^This attempt \(blocked\) could not be stored.*23514/)
    }
    await untilUnrecorded(blocked!.deliveries.length)
  })

  test('fails its delivery without a record when the database refuses any record', async () => {
    unrecorded = 0
    const [fine, unstorable] = await deliverTo('POST /fine', 'PUT /unstorable')
    assert.ok(fine!.deliveries.every(({ state }) => state === 'delivered'))
    assert.ok(unstorable!.deliveries.every(({ state }) => state === 'failed'))
    assert.equal(unstorable!.records.length, 0)
    await untilUnrecorded(unstorable!.deliveries.length)
  })
})
