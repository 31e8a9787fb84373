import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseExactly } from '#platform/exact-json.ts'
import { ApiError, invalid } from './errors.ts'
import { describeJsonError } from './json-error.ts'
import './requests.ts'

/** Bodies are JSON and nothing else; Fastify would accept plain text too. */
export function installBodyParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    /^application\/([\w.-]+\+)?json\s*(;|$)/i,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => readBody(request, bytes),
  )
  app.addHook('preValidation', async (request) => {
    if (request.body === undefined && request.routeOptions.config.bodyOptional) request.body = {}
    rejectUnstorableQuery(request.query as Record<string, unknown>)
  })
}

function readBody(request: FastifyRequest, bytes: Buffer): unknown {
  // Clients that send Content-Type with every request send it without a body, too.
  const mayBeEmpty = request.method === 'DELETE' || request.routeOptions.config.bodyOptional
  if (bytes.length === 0 && mayBeEmpty) return undefined
  const parsed = parseJsonBody(bytes)
  switch (parsed.kind) {
    case 'parsed':
      return withExactNumbers(parsed.value, bytes, request.routeOptions.config.exactNumbersAt)
    case 'malformed':
      throw new ApiError('malformed', parsed.message)
    case 'unstorable':
      throw invalid({ [parsed.field]: [parsed.message] })
  }
}

function ownField(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null
  return isObject && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

/** Elsewhere a large integer is an ordinary number, which schemas reject as out of range. */
function withExactNumbers(value: unknown, bytes: Buffer, paths: readonly (readonly string[])[] = []) {
  const given = paths.filter((path) => path.reduce(ownField, value) !== undefined)
  if (given.length === 0) return value
  const exact = parseExactly(bytes.toString('utf8'))
  return given.reduce((body, path) => replaceAt(body, path, path.reduce(ownField, exact)), value)
}

function replaceAt(holder: unknown, [key, ...below]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value
  return { ...(holder as object), [key]: replaceAt(ownField(holder, key), below, value) }
}

function rejectUnstorableQuery(query: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(query ?? {})) {
    const reason = [value].flat().flatMap((one) => unstorableReason(String(one)) ?? [])[0]
    if (reason) throw invalid({ [name.replaceAll('\0', '?')]: [reason] })
  }
}

/**
 * Bytes → JSON value, or the reason why not. Stricter than `JSON.parse`: UTF-8 only, bounded depth, no
 * `__proto__` key, and no text that PostgreSQL cannot store (U+0000, lone surrogates).
 */
type ParsedBody =
  | { kind: 'parsed'; value: unknown }
  | { kind: 'malformed'; message: string }
  | { kind: 'unstorable'; field: string; message: string }

export const MAX_DEPTH = 64
const MAX_FIELD_LENGTH = 256

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseJsonBody(bytes: Buffer): ParsedBody {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { kind: 'malformed', message: 'The body is not valid UTF-8.' }
  }
  if (text.trim() === '') return { kind: 'malformed', message: 'The body is empty; send a JSON value.' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'malformed', message: `The body is not valid JSON: ${describeJsonError(text)}.` }
  }
  return inspect(value)
}

type Container = { value: object; depth: number; key: string; parent: Container | null }

/** Walks without recursion, because the sender chooses the depth; and the width, so a plain number costs nothing. */
function inspect(value: unknown): ParsedBody {
  const open: Container[] = []
  let problem = check(value, '', null)
  for (let item = open.pop(); item && !problem; item = open.pop()) {
    if (Array.isArray(item.value)) {
      for (let index = 0; index < item.value.length && !problem; index++)
        problem = check(item.value[index], index, item)
    } else {
      for (const [key, child] of Object.entries(item.value))
        problem ??= checkKey(key, item) ?? check(child, key, item)
    }
  }
  return problem ?? { kind: 'parsed', value }

  function check(child: unknown, key: string | number, parent: Container | null): ParsedBody | undefined {
    if (typeof child === 'string') {
      const reason = unstorableReason(child)
      return reason ? { kind: 'unstorable', field: fieldOf(String(key), parent), message: reason } : undefined
    }
    if (typeof child !== 'object' || child === null) return undefined
    const depth = parent === null ? 1 : parent.depth + 1
    if (depth > MAX_DEPTH)
      return { kind: 'malformed', message: `The body is nested deeper than ${MAX_DEPTH} levels.` }
    open.push({ value: child, depth, key: String(key), parent })
    return undefined
  }
}

function checkKey(key: string, holder: Container): ParsedBody | undefined {
  if (key === '__proto__') return { kind: 'malformed', message: 'The body has a key named __proto__.' }
  const reason = unstorableReason(key)
  if (!reason) return undefined
  const field = fieldOf(holder.key, holder.parent)
  return { kind: 'unstorable', field, message: `has a key that ${reason}` }
}

/** The dotted path of `key` in `holder`; the body itself has no key. */
function fieldOf(key: string, holder: Container | null): string {
  const parts: string[] = []
  for (let at = holder, name = key; at; name = at.key, at = at.parent) parts.unshift(name)
  return parts.join('.').slice(0, MAX_FIELD_LENGTH) || 'body'
}

/** Why PostgreSQL could not store this text; undefined when it can. */
export function unstorableReason(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain the character U+0000'
  if (!text.isWellFormed()) return 'must not contain half of a surrogate pair'
  return undefined
}
