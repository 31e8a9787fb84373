import { createHash, hash } from 'node:crypto'
import { SECRET_HEADERS } from '#model/hooks/signature-headers.ts'
import { SIGNATURE_SCHEMES } from '#model/hooks/signature-schemes.ts'
import type { CompiledHook } from './compiled-hook.ts'

export type Headers = Record<string, string | string[] | undefined>

/** Where senders put the id of a call, which stays the same when they retry it. */
export const ID_HEADERS = [
  'idempotency-key',
  'webhook-id',
  'x-github-delivery',
  'x-gitea-delivery',
  'x-forgejo-delivery',
  'x-shopify-webhook-id',
  'linear-delivery',
  'x-gitlab-event-uuid',
]

/**
 * Two calls to one hook are the same when they have the same sender's id and body. Null when the sender gives no id:
 * then every call counts.
 */
export function idempotencyKey(headers: Headers, body: Buffer): Buffer | null {
  for (const name of ID_HEADERS) {
    const id = headers[name]
    if (typeof id === 'string' && id.trim() !== '') return hashOf(`${name}\0${id.trim()}\0`, body)
  }
  return null
}

/** The sender's id of a call, unless it is none that anyone would send. */
export function deliveryIdOf(headers: Headers): string | null {
  const id = ID_HEADERS.map((name) => headers[name]).find(
    (value) => typeof value === 'string' && value !== '',
  )
  return typeof id === 'string' && /^[!-~]{1,200}$/.test(id) ? id : null
}

const SCRATCH = Buffer.allocUnsafeSlow(64 * 1024)

/** In one piece where it fits: copying a body takes less than a hash that is fed twice. */
function hashOf(id: string, body: Buffer): Buffer {
  if (id.length * 3 + body.length > SCRATCH.length)
    return createHash('sha256').update(id).update(body).digest()
  const bodyAt = SCRATCH.write(id)
  body.copy(SCRATCH, bodyAt)
  return hash('sha256', SCRATCH.subarray(0, bodyAt + body.length), 'buffer')
}

const EVENT_HEADERS = ['x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event', 'x-event-key']

/** A sender that tests a hook after setting it up; nothing is run. */
export function isPing(headers: Headers): boolean {
  return EVENT_HEADERS.some((name) => headers[name] === 'ping' || headers[name] === 'diagnostics:ping')
}

export function contentTypeOf(headers: Headers): string | undefined {
  const type = headers['content-type']
  return typeof type === 'string' ? type : undefined
}

/** Headers are stored without what would let a reader of the record impersonate the sender. */
export function maskSecrets({ signature }: CompiledHook, headers: Headers): Record<string, unknown> {
  const tokenHeader =
    signature && SIGNATURE_SCHEMES[signature.scheme].sendsSecret ? signature.header : undefined
  const masked: Record<string, unknown> = { ...headers }
  for (const name in masked) if (SECRET_HEADERS.has(name) || name === tokenHeader) masked[name] = '********'
  return masked
}
