import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { hookSecretAad } from '#model/hooks/present-hook.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { newDeliverySecret } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import { createHook, createTestTree, type TestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { alternate, median, medianRatio, ROUNDS } from './measure.ts'
import { type Arrivals, clock } from './receiver.ts'
import type { Workbench } from './workbench.ts'

const SIZES = {
  full: { moves: 5_000, warmUps: 1, rounds: ROUNDS, samples: 300, movesPerHook: 200 },
  smoke: { moves: 100, warmUps: 1, rounds: 1, samples: 5, movesPerHook: 5 },
}
const RECEIVERS = 20
/** As many as a sender opens to one receiver. */
const CONNECTIONS = 64
const MOVES_PER_COMMIT = 100
const RECORDED_WITHIN_MS = 60_000

/** Like a commit status: an address, a header and a few values. */
const SETTINGS = {
  request_headers: [{ name: 'X-Run', value: '{{ action.id }}' }],
  request_body: {
    state: '{% case action.status %}{% when "completed" %}success{% else %}pending{% endcase %}',
    target_url: '{{ action.url_web_permalink }}',
    description: '{{ action.status_human_readable }} in {{ environment.name }}',
    context: 'gantry/{{ application.name }}',
  },
  request_method: 'POST',
  timeout_seconds: 15,
}

/**
 * Moves of actions, each delivered to one receiver and recorded, against a loop that only posts the same bodies. The
 * moves are made before the clock starts, because their cost is not part of delivering. Both are warmed up, so that
 * neither is measured while its code is still being compiled. The details include the rate of one loop per connection,
 * an upper bound for anything that records its attempts.
 */
export const deliver: Bench = async (workbench, size) => {
  const { moves, warmUps, rounds } = SIZES[size]
  const world = await openDeliveryWorld(workbench, 1)
  const headers = { 'content-type': 'application/json', 'x-run': '1', ...SIGNATURE_LIKE }
  const timeLoops = (loops: number) => async () => {
    await world.receiver.ask({ kind: 'forget' })
    const begin = clock()
    const body = JSON.stringify(SAMPLE_BODY)
    await world.deliverer.ask({
      kind: 'floor',
      url: `${world.urls[0]}/1`,
      body,
      headers,
      requests: moves,
      loops,
    })
    return moves / ((clock() - begin) / 1_000)
  }
  const timeMoves = async () => {
    await world.deliverer.ask({ kind: 'rest' })
    await world.move(await world.makeActions(moves))
    await world.receiver.ask({ kind: 'forget' })
    const begin = clock()
    await world.deliverer.ask({ kind: 'begin' })
    await world.receiver.ask<Arrivals>({ kind: 'wait', requests: moves, except: null })
    await world.recorded()
    const seconds = (clock() - begin) / 1_000
    await world.deliverer.ask({ kind: 'rest' })
    return moves / seconds
  }
  const parties = { deliver: timeMoves, loop: timeLoops(1), manyLoops: timeLoops(CONNECTIONS) }
  await alternate(warmUps, parties)
  const rates = await alternate(rounds, parties)
  return [
    {
      name: 'deliver',
      value: median(rates.deliver),
      unit: '/s',
      ratio: medianRatio(rates.deliver, rates.loop),
      floor: 'bare-loop',
      goal: { of: 'ratio', is: 'at least', limit: 0.5 },
      details: rates,
    },
  ]
}

/** From the commit of a move to the request at the receiver, on an idle system. */
export const deliverLatency: Bench = async (workbench, size) => {
  const { samples } = SIZES[size]
  const world = await openDeliveryWorld(workbench, 1)
  const waits: number[] = []
  for (const actionId of await world.makeActions(samples + 5)) {
    await world.receiver.ask({ kind: 'forget' })
    const arrival = world.receiver.ask<Arrivals>({ kind: 'wait', requests: 1, except: null })
    await world.move([actionId])
    const committedAt = clock()
    waits.push((await arrival).lastAt - committedAt)
    await world.recorded()
  }
  const sorted = waits.slice(5).toSorted((one, other) => one - other)
  const at = (share: number) =>
    Math.max(0, sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!)
  const [p50, p99] = [at(0.5), at(0.99)]
  const figure = { unit: 'ms', floor: 'median', details: { p50, p99 } }
  return [
    {
      ...figure,
      name: 'deliver-latency-p50',
      value: p50,
      ratio: 1,
      goal: { of: 'value', is: 'at most', limit: 15 },
    },
    {
      ...figure,
      name: 'deliver-latency-p99',
      value: p99,
      ratio: p99 / Math.max(p50, 0.001),
      goal: { of: 'value', is: 'at most', limit: 60 },
    },
  ]
}

/** The rate of nineteen receivers while a twentieth hangs, against the same while it does not. */
export const isolate: Bench = async (workbench, size) => {
  const { movesPerHook, rounds } = SIZES[size]
  const world = await openDeliveryWorld(workbench, RECEIVERS)
  const time = (hanging: number | null) => async () => {
    await world.calm()
    await world.receiver.ask({ kind: 'hang', receiver: hanging })
    const actionIds = await world.makeActions(movesPerHook)
    await world.receiver.ask({ kind: 'forget' })
    const requests = movesPerHook * (RECEIVERS - 1)
    const begin = clock()
    await world.move(actionIds)
    const { lastAt } = await world.receiver.ask<Arrivals>({ kind: 'wait', requests, except: 0 })
    return requests / ((lastAt - begin) / 1_000)
  }
  await time(null)()
  const rates = await alternate(rounds, { hanging: time(0), healthy: time(null) })
  return [
    {
      name: 'isolate',
      value: median(rates.hanging),
      unit: '/s',
      ratio: medianRatio(rates.hanging, rates.healthy),
      floor: 'all-healthy',
      goal: { of: 'ratio', is: 'at least', limit: 0.9 },
      details: rates,
    },
  ]
}

const SAMPLE_BODY = {
  state: 'pending',
  target_url: 'http://127.0.0.1:7070/app/actions/123456',
  description: 'In progress in Environment 2',
  context: 'gantry/Shop',
}
const SIGNATURE_LIKE = {
  'webhook-id': 'msg_00000000-0000-4000-8000-000000000000',
  'webhook-timestamp': '1700000000',
  'webhook-signature': `v1,${'x'.repeat(44)}`,
}

async function openDeliveryWorld(workbench: Workbench, receivers: number) {
  const { db, settings } = await workbench.createDatabase('deliver')
  const key = randomBytes(32)
  const box = createSecretBox([key])
  const tree = await createTestTree(db)
  const receiver: Child = startChild('./receiver.ts')
  workbench.defer(() => receiver.stop())
  const { ports } = await receiver.ask<{ ports: number[] }>({ kind: 'open', receivers })
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  for (const url of urls) {
    const id = await createHook(db, tree, 'outgoing', {
      target_url: `${url}/{{ action.id }}`,
      settings: JSON.stringify(SETTINGS),
      trigger_when: JSON.stringify({
        events: ['action.status_changed'],
        conditions: [],
        scope: 'pipeline',
      }),
    })
    const secret = box.seal(newDeliverySecret(), hookSecretAad(id))
    await db.updateTable('hooks').set({ secret }).where('id', '=', id).execute()
  }
  const logFile = join(await workbench.makeFolder(), 'deliverer.log')
  const deliverer = startChild('./deliverer.ts', { logFile, profileTo: workbench.profileTo })
  workbench.defer(() => deliverer.stop())
  await deliverer.ask({ kind: 'open', settings, key: key.toString('hex'), baseUrl: 'http://127.0.0.1:7070' })
  await deliverer.ask({ kind: 'begin' })
  return {
    db,
    receiver,
    deliverer,
    urls,
    makeActions: (count: number) => makeActions(db, tree, count),
    move: (actionIds: number[]) => moveAll(db, tree, actionIds),
    recorded: () => untilRecorded(db),
    /** Clears what the previous round left, including the health of the receivers. */
    async calm() {
      await receiver.ask({ kind: 'hang', receiver: null })
      await sql`update deliveries set state = 'failed' where state = 'pending' and leased_until is null`.execute(
        db,
      )
      await sql`delete from hook_health`.execute(db)
    },
  }
}

/** Queued runs without targets: only their status is reported. */
async function makeActions(db: Database, tree: TestTree, count: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type)
    select ${tree.environmentId}, ${tree.pipelineId}, 'deploy', 'queued', 'QUEUED', 'manual'
    from generate_series(1, ${count}::int) returning id`.execute(db)
  return rows.map((row) => row.id)
}

async function moveAll(db: Database, tree: TestTree, actionIds: number[]): Promise<void> {
  for (let from = 0; from < actionIds.length; from += MOVES_PER_COMMIT) {
    await db.transaction().execute(async (trx) => {
      const pass = await openSchedulingPass(trx, tree.environmentId)
      for (const action of await pass.load(actionIds.slice(from, from + MOVES_PER_COMMIT)))
        pass.moveAction(action, { status: 'in-progress', reason: 'IN_PROGRESS' })
      await pass.flush()
    })
  }
}

async function untilRecorded(db: Database): Promise<void> {
  const deadline = performance.now() + RECORDED_WITHIN_MS
  for (;;) {
    const pending = await db
      .selectFrom('deliveries')
      .select('id')
      .where('state', '=', 'pending')
      .limit(1)
      .executeTakeFirst()
    if (!pending) return
    if (performance.now() > deadline) throw new Error('Deliveries were not recorded in time')
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
