import { pino } from 'pino'
import { Agent, request } from 'undici'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { type DeliveryWorker, startDeliveryWorker } from '#engine/outgoing/deliver.ts'
import { createTree } from '#model/inventory/tree.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { type ConnectionSettings, openDatabase } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import { answerQuestions } from './child.ts'

// The delivery worker in a separate process; and the floor: the same bodies posted in a bare loop.

type Question =
  | { kind: 'open'; settings: ConnectionSettings; key: string; baseUrl: string }
  | { kind: 'begin' | 'rest' }
  | {
      kind: 'floor'
      url: string
      body: string
      headers: Record<string, string>
      requests: number
      loops: number
    }

const resources = new AsyncDisposableStack()
let start: () => Promise<DeliveryWorker>
let delivering: DeliveryWorker | undefined

async function open({ settings, key, baseUrl }: Extract<Question, { kind: 'open' }>): Promise<object> {
  const log = pino({ level: 'info' }, pino.destination({ fd: 2, sync: true }))
  const database = openDatabase(settings, { onIdleError: () => {} })
  resources.defer(() => database.close())
  const listener = await openListener(settings, { onError: () => {} })
  resources.defer(() => listener.close())
  const guard = createAddressGuard({ allowTargets: [], baseUrl: () => baseUrl })
  const http = createHttpClient({ guard, userAgent: 'Gantry/bench' })
  resources.defer(() => http.close())
  start = () =>
    startDeliveryWorker({
      db: database.db,
      box: createSecretBox([Buffer.from(key, 'hex')]),
      tokenTargets: 'anywhere',
      listener,
      http,
      tree: createTree(database.db),
      baseUrl: () => baseUrl,
      log,
      pollMs: 1_000,
    })
  resources.defer(rest)
  return {}
}

async function begin(): Promise<void> {
  delivering = await start()
}

async function rest(): Promise<void> {
  await delivering?.stop({ graceMs: 0 })
  delivering = undefined
}

/** Posts sequentially in each of the loops, each on its own keep-alive connection. */
async function postAll(floor: Extract<Question, { kind: 'floor' }>): Promise<object> {
  const { url, body, headers, requests, loops } = floor
  const dispatcher = new Agent({ connections: loops, pipelining: 1 })
  let left = requests
  await Promise.all(
    Array.from({ length: loops }, async () => {
      while (left-- > 0) {
        const answer = await request(url, { method: 'POST', body, headers, dispatcher })
        await answer.body.text()
      }
    }),
  )
  await dispatcher.close()
  return {}
}

answerQuestions<Question>(
  async (question) => {
    switch (question.kind) {
      case 'open':
        return open(question)
      case 'begin':
        return begin()
      case 'rest':
        return rest()
      case 'floor':
        return postAll(question)
    }
  },
  () => resources.disposeAsync(),
)
