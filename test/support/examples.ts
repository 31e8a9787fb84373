// Records what the service answers, as examples of the OpenAPI document. What differs from run to run (times, random
// ids, secrets, ports, folders) is replaced by values that stay the same.
import assert from 'node:assert/strict'

// biome-ignore lint/suspicious/noExplicitAny: examples have every shape
type Json = any
export type Example = { request?: Json; responses: Record<string, Json> }
export type Examples = Record<string, Example>
type Paths = Record<string, Record<string, { operationId: string }>>

export type ExampleCall = {
  path?: Record<string, string | number>
  query?: Record<string, string | number>
  body?: Json
  headers?: Record<string, string>
  token?: string | null
  /** False: the call only prepares others. */
  recorded?: boolean
}

const TIME = '2026-11-15T08:00:00.000Z'
const HOUR_MS = 3_600_000
const HEX = '0123456789abcdef'

/** Values by the name of their field, where a pattern cannot tell them. */
const BY_FIELD: Record<string, Json> = {
  duration_ms: 12,
  size_bytes: 16_384,
  version: '1.0.0',
  free_disk_bytes: 53_687_091_200,
  seconds: 4.2,
  code_verifier: 'dBjftJeZ4CVP-mBQF1CiDbCEq1aNmRXXyVRvPHUYFLT',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbpGJSstw-cM',
  'webhook-timestamp': String(Date.parse(TIME) / 1_000),
}

export function createRecorder(url: string, paths: Paths, replaced: Record<string, string>) {
  const examples: Examples = {}
  const uuids = new Map<string, string>()
  const startedAt = Date.now()
  const operations = Object.fromEntries(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [
        operationId,
        { method: method.toUpperCase(), path },
      ]),
    ),
  )

  function normalizeText(text: string): string {
    let result = text
    for (const [from, to] of Object.entries(replaced)) result = result.replaceAll(from, to)
    return result
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, sameTime)
      .replaceAll(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, new Date(TIME).toUTCString())
      .replace(/^\d{4}-\d\d-\d\d$/, TIME.slice(0, 10))
      .replaceAll(/\b\d{14}-[0-9a-f]{8}\b/g, `20261115080000-${HEX.slice(0, 8)}`)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, sameUuid)
      .replaceAll(/(gty_[a-z]+_)[\w-]+/g, '$1example')
      .replace(/^[B-Z]{4}-[B-Z]{4}$/, 'WDJB-MJHT')
      .replaceAll(/\/hooks\/[\w-]{20,}\/trigger/g, '/hooks/example-token/trigger')
      .replaceAll(/\bwhsec_[\w+/=]+/g, 'whsec_ZXhhbXBsZSBzZWNyZXQgb2YgYSBob29rIQ==')
      .replaceAll(/\b[0-9a-f]{64}\b/g, HEX.repeat(4))
      .replaceAll(/\b[0-9a-f]{40}\b/g, `${HEX}${HEX}${HEX.slice(0, 8)}`)
      .replaceAll(/\bv1,[\w+/]+=*/g, 'v1,ZXhhbXBsZSBzaWduYXR1cmU=')
      .replaceAll(/ssh-ed25519 [\w+/=]+/g, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEV4YW1wbGU')
      .replaceAll(/SHA256:[\w+/]+/g, 'SHA256:RXhhbXBsZSBmaW5nZXJwcmludCBvZiBhIGtleQ')
      .replaceAll(/\?redirect_uri=[^\s"]*/g, '?client_id=gantry&response_type=code&state=example')
  }

  /** As many hours before or after the example's present as it is from now. */
  function sameTime(time: string): string {
    // What begins at a full hour is as far from the full hour that it is now.
    const isFullHour = Date.parse(time) % HOUR_MS === 0
    const now = isFullHour ? Math.floor(Date.now() / HOUR_MS) * HOUR_MS : startedAt
    const hours = Math.round((Date.parse(time) - now) / HOUR_MS)
    return new Date(Date.parse(TIME) + hours * HOUR_MS).toISOString()
  }

  function sameUuid(uuid: string): string {
    const known = uuids.get(uuid) ?? `019a8f00-0000-7000-8000-${String(uuids.size + 1).padStart(12, '0')}`
    uuids.set(uuid, known)
    return known
  }

  function normalize(value: Json, field = ''): Json {
    if (value !== null && BY_FIELD[field] !== undefined) return BY_FIELD[field]
    if (typeof value === 'string') return normalizeText(value)
    if (Array.isArray(value)) return shorten(value).map((item) => normalize(item))
    if (typeof value !== 'object' || value === null) return value
    // How deep a queue is depends on the moment.
    if ('deferred' in value) return { ...value, ready: 0, deferred: 0, active: 0, dead: 0 }
    // Audit entries count everything that was done before.
    const own = 'subject_type' in value ? { ...value, id: 48 } : value
    return Object.fromEntries(Object.entries(own).map(([key, item]) => [key, normalize(item, key)]))
  }

  /** By the name of its operation; the first call of each status becomes its example. */
  async function call(
    operationId: string,
    input: ExampleCall = {},
  ): Promise<{ status: number; body: Json; headers: Headers }> {
    const operation = operations[operationId]
    assert.ok(operation, `the API has no operation ${operationId}`)
    const { method, path } = operation
    const query = input.query ? `?${new URLSearchParams(input.query as Record<string, string>)}` : ''
    const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => String(input.path?.[name]))
    const response = await fetch(`${url}${target}${query}`, {
      method,
      headers: {
        'user-agent': 'curl/8.5.0',
        ...(input.token && { authorization: `Bearer ${input.token}` }),
        ...(input.body !== undefined && { 'content-type': 'application/json' }),
        ...input.headers,
      },
      body: input.body === undefined ? undefined : JSON.stringify(input.body),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${target} ${response.status}: ${text}`)
    const body = readBody(response.headers.get('content-type') ?? '', text)
    if (input.recorded !== false) record(operationId, response.status, input.body, body)
    return { status: response.status, body, headers: response.headers }
  }

  function record(operationId: string, status: number, request: Json, response: Json): void {
    examples[operationId] ??= { responses: {} }
    const example = examples[operationId]
    if (request !== undefined) example.request ??= normalize(request)
    if (response !== null) example.responses[status] ??= normalize(response)
  }

  return { call, record, examples }
}

/** Lists are shortened: one item shows what all of them have. Days are listed oldest first, and the last one counts. */
function shorten(items: Json[]): Json[] {
  if (items.length < 3 || typeof items[0] !== 'object') return items
  if ('order' in items[0]) return items
  return 'date' in items[0] ? items.slice(-1) : items.slice(0, 2)
}

function readBody(type: string, text: string): Json {
  if (text === '') return null
  if (type.startsWith('application/x-ndjson')) return JSON.parse(text.split('\n', 1)[0]!)
  return /\bjson\b/.test(type) ? JSON.parse(text) : text
}
