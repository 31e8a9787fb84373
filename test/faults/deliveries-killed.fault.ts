// Thousands of runs are delivered to receivers that fail, while the worker is killed again and again and the database
// goes away: everything arrives, in order, and no secret stays behind.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { messageId } from '#engine/outgoing/send-request.ts'
import type { Status } from '#platform/database/tables.ts'
import type { GantryProcess } from '#test/support/process.ts'
import { openDeliveryFaults, openStoppableWorld } from './delivery-faults.ts'
import { type Arrival, isFinal } from './failing-receiver.ts'
import { openHooksWithSecrets } from './hooks-with-secrets.ts'
import { createLeakSearch, searchTable } from './leaks.ts'
import { moveActions } from './moving-actions.ts'

const ACTIONS = 2_000
const TABLES = ['hook_requests', 'deliveries', 'events', 'actions', 'queue.job']

const all = { after }
const stage = await openStoppableWorld(all)
const { db } = stage.world
const { secrets, receiver, hooks, readAnswers } = await openHooksWithSecrets(all, stage.world)
const { arrivals } = receiver

let processes: GantryProcess[]
let ends: Map<number, Status>
/** What the last worker that was killed had under way, when the next one had begun. */
let lastKill: { left: { id: string; leased_until: string }[]; tookOverAt: number }

suite('the worker is killed five times and the database restarted twice while it delivers', () => {
  before(async () => {
    const startedAt = performance.now()
    const faults = await openDeliveryFaults(stage, receiver)
    processes = faults.processes
    const moving = moveActions(db, hooks.scope, { count: ACTIONS, keepPace: faults.keepPace })
    const failing = faults.causeFaults()
    await Promise.all([moving, failing])
    ends = await moving
    lastKill = await failing
    await faults.untilDrained()
    assert.equal(await faults.stopWorker(), 0)
    console.log(`all over after ${Math.round((performance.now() - startedAt) / 1_000)} s`)
  })

  test('every final status is delivered to every hook; whatever is not delivered was superseded by one', async (t) => {
    const deliveries = await db.selectFrom('deliveries').select(['id', 'state', 'is_final']).execute()
    const came = new Set(arrivals.map((arrival) => arrival.messageId))
    const superseded = deliveries.filter(({ state }) => state === 'superseded')
    const missing = deliveries.filter(({ id }) => !came.has(messageId(id)))
    t.diagnostic(
      `${arrivals.length} arrivals, ${came.size} distinct messages, ${arrivals.length - came.size} duplicates, ` +
        `${superseded.length} superseded, of which ${missing.length} never arrived`,
    )
    const toldEnds = new Set(arrivals.map(({ hook, actionId, status }) => `${hook} ${actionId} ${status}`))
    const untold = [...ends].flatMap(([id, status]) =>
      hooks.names
        .filter((hook) => !toldEnds.has(`${hook} ${id} ${status}`))
        .map((hook) => ({ hook, id, status })),
    )
    assert.equal(ends.size, ACTIONS)
    assert.ok(superseded.length > 0, 'the receiver fails often enough')
    none(untold)
    none(missing.filter(({ state, is_final }) => state !== 'superseded' || is_final))
    none(deliveries.filter(({ state }) => !['delivered', 'superseded'].includes(state)))
    assert.equal(deliveries.length, expectedMessages())
  })

  test('deliveries of one action and hook arrive in the order of their events', () => {
    const lanes = Object.values(Object.groupBy(arrivals, ({ hook, actionId }) => `${hook} ${actionId}`))
    for (const lane of lanes) {
      const order = lane!.map(({ eventId }) => eventId)
      assert.deepEqual(
        order,
        order.toSorted((one, other) => one - other),
        describe(lane!),
      )
      const firstEnd = lane!.findIndex(isFinal)
      assert.ok(lane!.slice(firstEnd).every(isFinal), describe(lane!))
    }
  })

  test('duplicates of a delivery share its webhook-id, and no two deliveries do', () => {
    const ids = new Map<string, string>()
    const messages = new Map<string, string>()
    for (const arrival of arrivals) {
      const message = `${arrival.hook} ${arrival.eventId} ${arrival.actionId} ${arrival.status}`
      assert.equal(ids.getOrInsert(message, arrival.messageId), arrival.messageId)
      assert.equal(messages.getOrInsert(arrival.messageId, message), message)
    }
  })

  test('deliveries of a killed worker are sent again when their lease expires, and not before', (t) => {
    const { left, tookOverAt } = lastKill
    const leases = new Map(left.map(({ id, leased_until }) => [messageId(id), Date.parse(leased_until)]))
    const again = arrivals.filter((arrival) => arrival.at > tookOverAt && leases.has(arrival.messageId))
    t.diagnostic(`${left.length} were under way, ${again.length} arrivals of them afterwards`)
    assert.ok(again.some(isFinal))
    none(again.filter((arrival) => arrival.at < leases.get(arrival.messageId)!))
  })

  test('no secret is in a log, a record or a response', async (t) => {
    const search = createLeakSearch(secrets)
    const witness = createLeakSearch({ mask: '********', receiver: 'no secret at all', hook: hooks.ids[0]! })
    const said = processes.flatMap(({ log, output }) => [...log, ...output])
    const answers = await readAnswers()
    t.diagnostic(`${said.length} lines and ${answers.length} answers searched for ${Object.keys(secrets)}`)
    assert.ok(said.length > arrivals.length / 2, 'attempts are in the log')
    assert.deepEqual(names(witness('log', said)), ['hook'])
    assert.deepEqual(names(witness('answers', answers)), ['hook', 'mask', 'receiver'])
    assert.deepEqual(names(await searchTable(db, 'hook_requests', witness)), ['hook', 'mask', 'receiver'])

    none(search('log', said))
    none(search('answers', answers))
    for (const table of TABLES) none(await searchTable(db, table, search))
  })
})

/** `whole` hears of every move behind the creation, the others of two each; of a skipped action of one less. */
function expectedMessages(): number {
  const skipped = [...ends.values()].filter((status) => status === 'skipped').length
  return (ends.size - skipped) * (3 + 2 + 2) + skipped * (1 + 1 + 2)
}

/** A failure shows a few of them: of thousands it would take minutes. */
function none(list: unknown[]): void {
  assert.deepEqual(list.slice(0, 5), [])
}

function names(leaks: { secret: string }[]): string[] {
  return [...new Set(leaks.map(({ secret }) => secret))].sort()
}

function describe(lane: Arrival[]): string {
  return lane
    .map(({ hook, actionId, eventId, status }) => `${hook} ${actionId}: ${eventId} ${status}`)
    .join('\n')
}
