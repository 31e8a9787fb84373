// The API in this process, on a separate database. Every JSON response is checked against what the
// OpenAPI document promises for that route and status.

import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { pino } from 'pino'
import { createConnect } from '#adapters/executors/connect.ts'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { type AppDeps, buildApp } from '#app.ts'
import { type CallReceiver, createCallReceiver } from '#engine/incoming/receive-call.ts'
import { createEnqueue } from '#engine/scheduling/jobs.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { readConfig } from '#platform/config.ts'
import { createSecretBox, type SecretBox } from '#platform/crypto/secret-box.ts'
import { type ConnectionSettings, type Database, openDatabase } from '#platform/database/connect.ts'
import { openListener } from '#platform/database/listen.ts'
import { openQueue } from '#platform/queue/open-queue.ts'
import { createTestDatabase } from './database.ts'
import { later } from './later.ts'
import { LOCAL_SETTINGS } from './local-settings.ts'

export type TestApp = {
  app: FastifyInstance
  db: Database
  /** The app's database, for access outside the app's pool. */
  settings: ConnectionSettings
  box: SecretBox
  calls: CallReceiver
  /** Every SQL statement sent by the app's pool, in order; clear it to start over. */
  statements: string[]
  request(method: string, url: string, options?: RequestOptions): Promise<Answer>
}

export type RequestOptions = {
  token?: string
  body?: unknown
  headers?: Record<string, string>
  rawBody?: string | Buffer
  address?: string
}
// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
export type Answer = { status: number; headers: Record<string, string>; body: any; text: string }

export const TEST_BASE_URL = 'http://gantry.test'

type Closer = { after(fn: () => Promise<void>): void } | TestContext

export async function openTestApp(
  t: Closer,
  more: {
    environment?: Record<string, string>
    health?: Partial<AppDeps['health']>
    log?: AppDeps['log']
    /** Another process of the same installation: an app that shares this one's database and key. */
    beside?: TestApp
    live?: AppDeps['streams']
    waits?: AppDeps['waits']
    guard?: AppDeps['guard']
    sshGuard?: AppDeps['sshGuard']
    /** The account of an embedded database, which commands on this machine must not use. */
    databaseUid?: number
    refuseLocal?: AppDeps['refuseLocal']
    poolState?: AppDeps['poolState']
    /** Where senders call hooks. */
    baseUrl?: () => string
    /** Further routes. */
    routes?: AppDeps['more']
  } = {},
): Promise<TestApp> {
  const { settings, drop } = more.beside
    ? { settings: more.beside.settings, drop: async () => {} }
    : await createTestDatabase()
  const database = openDatabase(settings, { onIdleError: () => {} })
  const statements = recordStatements(database.pool)
  const box = more.beside?.box ?? createSecretBox([randomBytes(32)])
  const listener = await openListener(settings, { onError: () => {} })
  const queue = await openQueue({ settings, onError: () => {} })
  const enqueue = createEnqueue(queue)
  const calls = await createCallReceiver({
    db: database.db,
    settings,
    box,
    listener,
    onError: () => {},
  })
  const config = readConfig({ GANTRY_HOME: LOCAL_SETTINGS.home, ...more.environment })
  const guard =
    more.guard ?? createAddressGuard({ allowTargets: config.allowTargets, baseUrl: () => TEST_BASE_URL })
  const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
  const sshGuard = more.sshGuard ?? createSshGuard({ targets: config.sshTargets })
  const servers = createConnect({ ...LOCAL_SETTINGS, databaseUid: more.databaseUid ?? null, sshGuard })
  later(t, async () => {
    await servers.close()
    await http.close()
    await calls.close()
    await queue.close()
    await listener.close()
    await database.close()
    await drop()
  })
  const app = await buildApp({
    calls,
    enqueue,
    config,
    guard,
    sshGuard,
    connect: servers.connect,
    refuseLocal: more.refuseLocal ?? servers.refuseLocal,
    http,
    localIsolation: servers.localIsolation,
    poolState: more.poolState ?? database.poolState,
    db: database.db,
    reserved: database.db,
    listener,
    box,
    streams: more.live,
    waits: more.waits,
    more: more.routes,
    version: '0.0.0-test',
    baseUrl: more.baseUrl ?? (() => TEST_BASE_URL),
    log: more.log ?? pino({ level: 'silent' }),
    health: {
      refusal: () => null,
      isStopping: () => false,
      isDiskFull: async () => false,
      checkDatabase: async () => {},
      isQueueWorking: async () => true,
      metrics: async () => '',
      deadLetters: async () => [],
      ...more.health,
    },
  })
  later(t, () => app.close())
  await app.ready()
  sharedCheck ??= createAnswerCheck(app)
  const check = sharedCheck

  async function request(method: string, url: string, options: RequestOptions = {}): Promise<Answer> {
    const headers: Record<string, string> = { ...options.headers }
    if (options.token !== undefined) headers.authorization = `Bearer ${options.token}`
    const payload = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    if (payload !== undefined && headers['content-type'] === undefined)
      headers['content-type'] = 'application/json'
    const inject = {
      method,
      url,
      headers,
      payload,
      remoteAddress: options.address ?? '192.0.2.1',
    } as InjectOptions
    const response = await app.inject(inject)
    const text = response.body
    const isJson = text !== '' && /\bjson\b/.test(String(response.headers['content-type']))
    const answer = {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
      body: isJson ? JSON.parse(text) : text,
      text,
    }
    if (isJson) check(method, url, answer)
    return answer
  }

  return { app, db: database.db, settings, box, calls, statements, request }
}

/** The document is the same for each app of a process, whatever its settings. */
let sharedCheck: ReturnType<typeof createAnswerCheck> | undefined

/** Throws when a response is not what the OpenAPI document says, or when the document does not describe it. */
export function createAnswerCheck(app: Pick<FastifyInstance, 'swagger'>) {
  const document = app.swagger() as unknown as {
    paths: Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>
  }
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'openapi')
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
      pointer: `openapi#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method}/responses`,
      responses,
    })),
  )
  return (method: string, url: string, answer: Answer) => {
    const path = url.split('?')[0]!
    const described = operations.find(
      (operation) =>
        operation.method === method && operation.pattern.test(path) && answer.status in operation.responses,
    )
    if (!described && answer.status < 400)
      throw new Error(`The OpenAPI document does not describe ${method} ${path} ${answer.status}`)
    const shared = described?.responses[answer.status]?.$ref
    const pointer = described
      ? `${shared ? `openapi${shared}` : `${described.pointer}/${answer.status}`}/content/application~1json/schema`
      : 'openapi#/components/schemas/Error'
    const validate = ajv.getSchema(encodeURI(pointer))
    if (!validate)
      throw new Error(`The OpenAPI document describes no JSON for ${method} ${url} ${answer.status}`)
    if (!validate(answer.body)) {
      throw new Error(
        `${method} ${url} ${answer.status} breaks its schema: ${ajv.errorsText(validate.errors)}`,
      )
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: pg's query has a dozen overloads
function recordStatements(pool: any): string[] {
  const statements: string[] = []
  // biome-ignore lint/suspicious/noExplicitAny: as above
  pool.on('connect', (client: any) => {
    const query = client.query.bind(client)
    // biome-ignore lint/suspicious/noExplicitAny: as above
    client.query = (text: any, ...rest: any[]) => {
      statements.push(typeof text === 'string' ? text : text.text)
      return query(text, ...rest)
    }
  })
  return statements
}
