// Stand-ins for the services that outgoing hooks notify. Each keeps the state that the real service keeps, checks every
// request against a schema of that call, and limits and fails as a test says. A request that breaks its schema, or that
// is none of the calls, fails the test when the service closes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { TSchema } from 'typebox'
import { later } from '../later.ts'
import { until } from '../until.ts'
import type { Failure } from './failures.ts'
import { createLimits, type Limit, type Window } from './limits.ts'

export type Closer = Parameters<typeof later>[0]
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
export type Json = any
export type Reply = { status: number; headers?: Record<string, string>; body: Json }

export type Arrived = {
  at: number
  method: string
  /** Without the query. */
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: string
  /** The body; `{}` without one. */
  json: Json
  token: string | null
  /** The call that it was; null: none that this service knows. */
  call: string | null
  /** The groups of the call's path, decoded. */
  params: Record<string, string>
  /** What was returned; null: nothing. */
  status: number | null
  /** It exceeded the limit and had no effect. */
  limited: boolean
}

export type Call = {
  name: string
  method: string
  path: RegExp
  body?: TSchema
  perform(request: Arrived): Reply
}

/** What a token may do. Tokens that a test does not name may do everything. */
export type Access = 'write' | 'read' | 'hidden' | 'revoked' | 'fine-grained'

export type Behavior = {
  name: string
  calls: Call[]
  readToken(headers: Record<string, string>): string | null
  /** A refusal, before limits and effects. */
  refuse(request: Arrived, access: Access | 'missing'): Reply | null
  invalid(request: Arrived, problem: string): Reply
  unknown: Reply
  limited(window: Window, kind: string): Reply
  /** On every answer while there is a limit. */
  limitHeaders(window: Window, kind: string): Record<string, string>
}

export type Service = {
  url: string
  /** Everything that arrived, in order. */
  requests: Arrived[]
  /** What broke a schema; a test that expects some empties the list. */
  violations: string[]
  /** So many requests per span and token; what exceeds it has no effect. */
  limitTo(count: number, perMs: number, kind?: string): void
  unlimited(): void
  /** Time passes for the limits: what waits for them has waited that much longer. */
  pass(ms: number): void
  /** The next requests go wrong, one each. */
  fail(...failures: Failure[]): void
  permit(token: string, access: Access): void
  /** The commits of the branches of its repositories. */
  tips: Map<string, string>
  /** Waits until so many requests arrived (of a call). */
  until(count: number, call?: string): Promise<Arrived[]>
  close(): Promise<void>
}

export async function startService(t: Closer, behavior: Behavior): Promise<Service> {
  const requests: Arrived[] = []
  const violations: string[] = []
  const failures: Failure[] = []
  const access = new Map<string, Access>()
  const limits = createLimits()
  const tips = new Map<string, string>()
  const calls = behavior.calls.map((call) => ({ ...call, validate: call.body && compile(call.body) }))

  const server = createServer(async (message, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of message) chunks.push(chunk)
    const headers = message.headers as Record<string, string>
    const url = new URL(message.url!, 'http://localhost')
    const body = Buffer.concat(chunks).toString()
    if (url.pathname.endsWith('.git/git-upload-pack')) {
      response
        .writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
        .end(listTips(tips, body))
      return
    }
    const request: Arrived = {
      at: Date.now(),
      method: message.method!,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
      body,
      json: readJson(body),
      token: behavior.readToken(headers),
      call: null,
      params: {},
      status: null,
      limited: false,
    }
    requests.push(request)
    respond(request, response)
  })

  function respond(request: Arrived, response: ServerResponse): void {
    const call = calls.find(({ method, path }) => method === request.method && path.test(request.path))
    if (call) {
      request.call = call.name
      request.params = decodeGroups(call.path.exec(request.path)!)
    }
    const failure = takeFailure(request)
    const real = failure && !failure.performed ? null : perform(request, call)
    const answer = failure?.answer ?? real!
    if (answer === 'none') return
    if (answer === 'reset') {
      response.socket?.destroy()
      return
    }
    const given = typeof answer === 'function' ? answer(real!) : answer
    const { status, headers, body } = given === 'drip' ? real! : given
    request.status = status
    const isText = typeof body === 'string'
    const type = isText ? 'text/plain' : 'application/json; charset=utf-8'
    response.writeHead(status, { 'content-type': type, ...headers })
    const text = isText ? body : JSON.stringify(body)
    if (given === 'drip') drip(text, response)
    else response.end(text)
  }

  function drip(text: string, response: ServerResponse): void {
    let sent = 0
    const timer = setInterval(() => response.write(text.slice(sent, ++sent)), 1_000)
    response.on('close', () => clearInterval(timer))
  }

  function perform(
    request: Arrived,
    call: (Call & { validate?: ValidateFunction | undefined }) | undefined,
  ): Reply {
    if (!call) {
      violations.push(`${behavior.name} has no ${request.method} ${request.path}`)
      return behavior.unknown
    }
    const known = request.token === null ? 'missing' : (access.get(request.token) ?? 'write')
    const window = limits.count(request.token)
    if (window?.exceeded) {
      request.limited = true
      return behavior.limited(window, limits.kind)
    }
    const reply = behavior.refuse(request, known) ?? checked(request, call)
    if (!window) return reply
    return { ...reply, headers: { ...behavior.limitHeaders(window, limits.kind), ...reply.headers } }
  }

  function checked(request: Arrived, call: Call & { validate?: ValidateFunction | undefined }): Reply {
    const { validate } = call
    if (!validate) return call.perform(request)
    if (request.json !== undefined && validate(request.json)) return call.perform(request)
    const problem = request.json === undefined ? 'the body is no JSON' : ajv.errorsText(validate.errors)
    violations.push(`${behavior.name} ${call.name}: ${problem} in ${request.body.slice(0, 500)}`)
    return behavior.invalid(request, problem)
  }

  function takeFailure(request: Arrived): Failure | undefined {
    const index = failures.findIndex(({ call }) => call === undefined || call === request.call)
    return index === -1 ? undefined : failures.splice(index, 1)[0]
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  let open = true
  const close = async () => {
    if (!open) return
    open = false
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  later(t, async () => {
    await close()
    assert.deepEqual(violations, [], `${behavior.name} got requests that break its API`)
  })

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    violations,
    tips,
    limitTo: (count: number, perMs: number, kind = 'primary') => limits.set({ count, perMs, kind } as Limit),
    unlimited: () => limits.set(null),
    pass: (ms) => limits.pass(ms),
    fail: (...more) => {
      failures.push(...more)
    },
    permit: (token, what) => {
      access.set(token, what)
    },
    async until(count, call) {
      const ofCall = () => requests.filter((one) => call === undefined || one.call === call)
      await until(`${count} requests at ${behavior.name}`, 15_000, () => ofCall().length >= count)
      return ofCall()
    },
    close,
  }
}

/** What git's protocol, version 2, answers to ls-refs. */
function listTips(tips: ReadonlyMap<string, string>, body: string): string {
  const wanted = Array.from(body.matchAll(/ref-prefix (refs\/heads\/.+)$/gm), ([, prefix]) => prefix!)
  const lines = [...tips].map(([branch, commit]) => ({ ref: `refs/heads/${branch}`, commit }))
  const found = lines.filter(({ ref }) => wanted.some((prefix) => ref.startsWith(prefix)))
  const texts = found.map(({ ref, commit }) => `${commit} ${ref}\n`)
  return [...texts.map((text) => (text.length + 4).toString(16).padStart(4, '0') + text), '0000'].join('')
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
const compiled = new WeakMap<TSchema, ValidateFunction>()

function compile(schema: TSchema): ValidateFunction {
  const known = compiled.get(schema)
  if (known) return known
  const validate = ajv.compile(schema)
  compiled.set(schema, validate)
  return validate
}

/** undefined: no JSON. */
function readJson(body: string): Json {
  if (body === '') return {}
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function decodeGroups({ groups }: RegExpExecArray): Record<string, string> {
  const matched = Object.entries(groups ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(matched.map(([name, value]) => [name, decodeURIComponent(value)]))
}
