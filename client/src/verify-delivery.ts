// For receivers of outgoing hooks: checks the signature of a delivery, https://www.standardwebhooks.com.

export type Delivered = {
  /** The same for every attempt of a delivery: a receiver that has seen it may ignore it. */
  id: string
  /** When this attempt was made. */
  sentAt: Date
  /** The body as JSON; null when it is empty. */
  payload: unknown
}

export type VerifyDeliveryInput = {
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Exactly the bytes that were received: parsing and serializing them again changes them. */
  body: string | Uint8Array | ArrayBuffer
  /** The `whsec_…` secret of the hook. While a secret is rotated, both may be given. */
  secret: string | readonly string[]
  /** How far the clocks of sender and receiver may differ, and how long a delivery may be on its way. */
  toleranceSeconds?: number | undefined
  now?: Date | undefined
}

export type VerificationProblem =
  /** `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing. */
  | 'header_missing'
  /** The timestamp is not one, or too far from now: possibly a delivery that somebody recorded and sends again. */
  | 'timestamp'
  /** No signature was made with the secret for this body. */
  | 'mismatch'
  /** Not a secret of Gantry: `whsec_` and base64. */
  | 'secret'
  /** The body was signed with the secret, and is not JSON. */
  | 'body'

/** The delivery is not genuine, or cannot be checked. Respond with 401 or 403 and do nothing. */
export class VerificationError extends Error {
  override readonly name: string = 'VerificationError'
  readonly problem: VerificationProblem

  constructor(problem: VerificationProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

/** Resolves with what was delivered; rejects with a `VerificationError` that says what is wrong. */
export async function verifyDelivery(input: VerifyDeliveryInput): Promise<Delivered> {
  const { toleranceSeconds = 300, now = new Date() } = input
  const keys = await Promise.all([input.secret].flat().map((secret) => importKey(secret)))
  const id = headerOf(input.headers, 'webhook-id')
  const timestamp = headerOf(input.headers, 'webhook-timestamp')
  const signatures = headerOf(input.headers, 'webhook-signature')
  const body = bytesOf(input.body)
  if (!/^\d{1,12}$/.test(timestamp))
    throw new VerificationError('timestamp', '`webhook-timestamp` is not a number of seconds.')
  const sentAt = new Date(Number(timestamp) * 1_000)
  const seconds = Math.abs(now.getTime() - sentAt.getTime()) / 1_000
  if (seconds > toleranceSeconds)
    throw new VerificationError(
      'timestamp',
      `The delivery is ${Math.round(seconds)} seconds away from this clock; ${toleranceSeconds} are allowed.`,
    )
  if (!(await isSigned(keys, signatures, concat(encode(`${id}.${timestamp}.`), body))))
    throw new VerificationError('mismatch', 'No signature matches the body and the secret.')
  return { id, sentAt, payload: parse(body) }
}

/** During a rotation there is one signature per secret. `verify` compares in constant time. */
async function isSigned(keys: CryptoKey[], header: string, signed: Bytes): Promise<boolean> {
  for (const signature of header.split(' ')) {
    const bytes = signature.startsWith('v1,') ? decodeBase64(signature.slice(3)) : undefined
    if (!bytes) continue
    for (const key of keys) if (await crypto.subtle.verify('HMAC', key, bytes, signed)) return true
  }
  return false
}

function importKey(secret: string): Promise<CryptoKey> {
  const bytes = secret.startsWith('whsec_') ? decodeBase64(secret.slice(6)) : undefined
  // An empty key signs, too, and its signatures are worth nothing.
  if (!bytes || bytes.length === 0)
    throw new VerificationError('secret', 'The secret is not `whsec_` and base64.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function headerOf(headers: VerifyDeliveryInput['headers'], name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  const text = typeof value === 'object' ? value?.[0] : value
  if (text === undefined || text === '')
    throw new VerificationError('header_missing', `The header \`${name}\` is missing.`)
  return text
}

function parse(body: Bytes): unknown {
  if (body.length === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new VerificationError('body', 'The body is not JSON.')
  }
}

type Bytes = Uint8Array<ArrayBuffer>

const encode = (text: string): Bytes => new TextEncoder().encode(text)

function bytesOf(body: VerifyDeliveryInput['body']): Bytes {
  return typeof body === 'string' ? encode(body) : new Uint8Array(body)
}

function concat(one: Bytes, other: Bytes): Bytes {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

function decodeBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
