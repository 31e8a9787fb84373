// The server under test: the API as service.ts builds it, on a benchmark database, in a separate process.

import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { publicly } from '#access/authorization/enforce.ts'
import { createConnect } from '#adapters/executors/connect.ts'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { createCallReceiver } from '#engine/incoming/receive-call.ts'
import { createEnqueue } from '#engine/scheduling/jobs.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { readConfig } from '#platform/config.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { type ConnectionSettings, openDatabase } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import { openLogStream } from '#platform/log-stream.ts'
import { openQueue } from '#platform/queue/open-queue.ts'
import { buildApp } from '../server/app.ts'
import { answerQuestions } from './child.ts'

export type ServerQuestion =
  | { kind: 'open'; settings: ConnectionSettings }
  /** What GET /bench/constant returns from now on. */
  | { kind: 'set constant'; text: string }
  | { kind: 'cpu' }
  | { kind: 'memory' }

const resources = new AsyncDisposableStack()
let constant = '{}'

async function open(settings: ConnectionSettings): Promise<{ port: number }> {
  const config = readConfig({})
  // As main.ts logs; the bench sends standard error to a file.
  const log = pino({ level: config.logLevel }, openLogStream(2))
  const database = openDatabase(settings, {
    max: config.databaseConnections,
    onIdleError: (error) => log.warn({ reason: error.message }, 'idle connection lost'),
  })
  resources.defer(() => database.close())
  const box = createSecretBox([randomBytes(32)])
  const onError = (error: Error) => log.warn({ reason: error.message }, 'a background part met an error')
  const listener = await openListener(settings, { onError })
  resources.defer(() => listener.close())
  const queue = await openQueue({ settings, onError })
  resources.defer(() => queue.close())
  const enqueue = createEnqueue(queue)
  const calls = await createCallReceiver({
    db: database.db,
    settings,
    box,
    listener,
    onError,
  })
  resources.defer(() => calls.close())
  let url = ''
  const guard = createAddressGuard({ allowTargets: [], baseUrl: () => url })
  const sshGuard = createSshGuard({ targets: [] })
  const http = createHttpClient({ guard, userAgent: 'Gantry/bench' })
  resources.defer(() => http.close())
  const home = join(tmpdir(), `gantry-bench-home-${process.getuid!()}`)
  const local = { databaseUid: null, sshGuard, home, socket: null, unsafeLocalSteps: false }
  const { connect, refuseLocal, localIsolation } = createConnect(local)
  const app = await buildApp({
    config,
    calls,
    guard,
    sshGuard,
    connect,
    refuseLocal,
    localIsolation,
    poolState: database.poolState,
    http,
    enqueue,
    db: database.db,
    reserved: database.db,
    listener,
    box,
    version: '0.0.0-bench',
    baseUrl: () => url,
    log,
    health: {
      refusal: () => null,
      isStopping: () => false,
      isDiskFull: async () => false,
      checkDatabase: async () => {},
      isQueueWorking: async () => true,
      metrics: async () => '',
      deadLetters: async () => [],
    },
    // The floor of `read`: same hooks, same headers, nothing looked up, nothing serialized.
    more: async (api) => {
      api.get('/bench/constant', { config: { access: publicly } }, async (_request, reply) => {
        reply.type('application/json; charset=utf-8')
        return constant
      })
    },
  })
  resources.defer(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  url = `http://127.0.0.1:${port}`
  return { port }
}

answerQuestions<ServerQuestion>(
  async (question) => {
    switch (question.kind) {
      case 'open':
        return open(question.settings)
      case 'set constant':
        constant = question.text
        return {}
      case 'memory':
        return { mib: process.memoryUsage.rss() / 1024 / 1024 }
      case 'cpu': {
        const { user, system } = process.cpuUsage()
        return { ms: (user + system) / 1_000 }
      }
    }
  },
  () => resources.disposeAsync(),
)
