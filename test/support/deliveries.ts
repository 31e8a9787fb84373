// Helpers for tests of outgoing hooks: an app that really delivers, a configurable receiver, actions that change status,
// and a clock that is moved by backdating what waits for it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { pino } from 'pino'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { startDeliveryWorker } from '#engine/outgoing/deliver.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { startActions } from '#model/actions/start-actions.ts'
import type { State } from '#model/actions/status.ts'
import { createTree } from '#model/inventory/tree.ts'
import { type AddressGuard, createAddressGuard } from '#platform/addresses/guard.ts'
import { openListener } from '#platform/database/listen.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import { openTestApp, type TestApp } from './harness.ts'
import { later } from './later.ts'
import { untilTrue } from './until.ts'
import { createTestTree, type TestTree } from './world.ts'

export type Arrival = {
  path: string
  method: string
  headers: Record<string, string>
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  json: any
}
export type Behavior = (request: IncomingMessage, response: ServerResponse, arrival: Arrival) => void

const QUEUED: State = { status: 'queued', reason: 'QUEUED' }
export const IN_PROGRESS: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
export const COMPLETED: State = { status: 'completed', reason: 'COMPLETED' }
export const FAILED: State = { status: 'failed', reason: 'FAILED' }

export type MadeHook = { id: string; secret: string }

type Closer = Parameters<typeof later>[0]
type OnAttempt = Parameters<typeof startDeliveryWorker>[0]['onAttempt']

/** Closes in reverse order. */
const inReverse = (t: Closer): Closer => ({ after: (end) => later(t, end) })

/** A receiver on loopback; it returns 200 unless configured otherwise. */
export async function openReceiver(t: Closer) {
  const arrivals: Arrival[] = []
  let behave: Behavior = (_, response) => response.end('thanks')
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const arrival: Arrival = {
      path: request.url!,
      method: request.method!,
      headers: request.headers as Record<string, string>,
      body,
      json: body.startsWith('{') ? JSON.parse(body) : undefined,
    }
    arrivals.push(arrival)
    behave(request, response, arrival)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  later(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    behave(next: Behavior) {
      behave = next
    },
    answer(status: number, headers: Record<string, string> = {}, body = '') {
      behave = (_, response) => response.writeHead(status, headers).end(body)
    },
    /** Waits until that many requests have arrived. */
    async until(count: number): Promise<Arrival[]> {
      await untilTrue(() => arrivals.length >= count)
      return arrivals
    },
  }
}

/** An app and a delivery worker. `TEST_BASE_URL` is no loopback address, so loopback is allowed explicitly. */
export async function openDeliveries(
  t: Closer,
  more: {
    guard?: AddressGuard
    log?: pino.Logger
    delivers?: boolean
    onAttempt?: OnAttempt
    tokenTargets?: TokenTargets
  } = {},
) {
  const guard =
    more.guard ??
    createAddressGuard({ allowTargets: ['127.0.0.0/8', '::1'], baseUrl: () => 'http://gantry.test' })
  const environment = { ...(more.tokenTargets && { GANTRY_TOKEN_TARGETS: more.tokenTargets }) }
  const api = await openTestApp(inReverse(t), { guard, environment })
  const { db } = api
  const tree = await createTestTree(db)
  if (more.delivers !== false) await startTestDelivering(t, api, { ...more, guard })

  async function makeHook(input: object, at: TestTree = tree): Promise<MadeHook> {
    const answer = await api.request('POST', `/pipelines/${at.pipelineId}/hooks/outgoing`, {
      token: at.owner.token,
      body: { name: 'Notify', ...input },
    })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }

  async function startAction(
    at: Pick<TestTree, 'environmentId' | 'pipelineId' | 'owner'> = tree,
    variables: object = {},
    type = 'deploy',
  ): Promise<number> {
    const action = { ...manualStart(at), type, hook_parsed_variables: variables as Record<string, unknown> }
    const [id] = await db.transaction().execute((trx) => startActions(trx, [action], []))
    return id!
  }

  /** Moves an action through these states, each in its own transaction. */
  async function move(actionId: number, ...states: State[]): Promise<void> {
    for (const state of states) {
      await db.transaction().execute(async (trx) => {
        const { environment_id } = await trx
          .selectFrom('actions')
          .select('environment_id')
          .where('id', '=', actionId)
          .executeTakeFirstOrThrow()
        const pass = await openSchedulingPass(trx, environment_id)
        const [action] = await pass.load([actionId])
        pass.moveAction(action!, state)
        await pass.flush()
      })
    }
  }

  const deliveries = (hookId: string) =>
    db.selectFrom('deliveries').selectAll().where('hook_id', '=', hookId).orderBy('event_id').execute()
  const requests = (hookId: string) =>
    db.selectFrom('hook_requests').selectAll().where('hook_id', '=', hookId).orderBy('id').execute()
  const health = (hookId: string) =>
    db.selectFrom('hook_health').selectAll().where('hook_id', '=', hookId).executeTakeFirst()

  return {
    ...api,
    api,
    tree,
    guard,
    makeHook,
    startAction,
    move,
    deliveries,
    requests,
    /** Waits until no delivery of the hook is in progress or due. */
    async untilIdle(hookId: string) {
      await untilTrue(async () => {
        const open = (await deliveries(hookId)).filter(
          (one) =>
            one.state === 'pending' && (one.leased_until !== null || Date.parse(one.due_at) <= Date.now()),
        )
        return open.length === 0
      })
      return deliveries(hookId)
    },
    /** Waits until the hook has at least that many records. */
    async recorded(hookId: string, count: number) {
      await untilTrue(async () => (await requests(hookId)).length >= count)
      return requests(hookId)
    },
    /** Waits until that many consecutive failures of the receiver are stored. */
    async untilFailing(hookId: string, failures: number) {
      await untilTrue(async () => ((await health(hookId))?.failures_in_a_row ?? 0) >= failures)
    },
    health,
    /** Moves the clock until no delivery of the hook is pending. */
    async exhaust(hookId: string) {
      await untilTrue(async () => {
        await passTime(api, hookId, DAY)
        return (await deliveries(hookId)).every(({ state }) => state !== 'pending')
      })
      return deliveries(hookId)
    },
    /** As the owner of the tree by default. */
    async change(hookId: string, body: object, token = tree.owner.token) {
      return api.request('PUT', `/hooks/outgoing/${hookId}`, { token, body })
    },
    /** Moves the clock of one hook: everything that waits has waited that much longer. */
    passTime: (hookId: string, seconds: number) => passTime(api, hookId, seconds),
  }
}

export const DAY = 86_400

async function passTime({ db }: Pick<TestApp, 'db'>, hookId: string, seconds: number): Promise<void> {
  const span = sql`${seconds}::float8 * interval '1 second'`
  // An attempt in progress does not wait.
  await sql`update deliveries set due_at = due_at - ${span}
    where hook_id = ${hookId} and state = 'pending' and leased_until is null`.execute(db)
  await sql`update hook_health set open_until = open_until - ${span}, failing_since = failing_since - ${span},
    warned_at = warned_at - ${span} where hook_id = ${hookId}`.execute(db)
}

export async function startTestDelivering(
  t: Closer,
  { db, box, settings }: TestApp,
  more: { guard: AddressGuard; log?: pino.Logger; onAttempt?: OnAttempt; tokenTargets?: TokenTargets },
) {
  const { guard, log, onAttempt, tokenTargets = 'anywhere' } = more
  const listener = await openListener(settings, { onError: () => {} })
  const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
  const delivering = await startDeliveryWorker({
    db,
    box,
    tokenTargets,
    listener,
    http,
    tree: createTree(db),
    baseUrl: () => 'http://gantry.test',
    log: log ?? pino({ level: 'silent' }),
    onAttempt,
    pollMs: 50,
  })
  later(t, async () => {
    await delivering.stop({ graceMs: 0 })
    await http.close()
    await listener.close()
  })
  return delivering
}

/** A deploy that the owner starts, without anything of its own. */
export function manualStart({
  environmentId,
  pipelineId,
  owner,
}: Pick<TestTree, 'environmentId' | 'pipelineId' | 'owner'>): Parameters<typeof startActions>[1][number] {
  return {
    plan: 0,
    environment_id: environmentId,
    pipeline_id: pipelineId,
    type: 'deploy',
    status: QUEUED.status,
    status_reason_code: QUEUED.reason,
    trigger_type: 'manual',
    trigger_comment: null,
    origin: null,
    trigger_name: 'somebody',
    trigger_email: null,
    ip_address: null,
    triggered_by: owner.id,
    hook_id: null,
    hook_request_id: null,
    hook_parsed_variables: {},
    variables: null,
    deployment: null,
    commit: null,
    release_name: null,
    credential_id: null,
    retry_of: null,
    parent_id: null,
  }
}
