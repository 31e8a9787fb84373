import { createHmac, hash, timingSafeEqual } from 'node:crypto'

/** How calls to a hook are signed; docs/guides/senders.md has an example for each sender. */
export type SignatureRule = {
  scheme: 'body' | 'timestamp' | 'token'
  algorithm: 'sha256' | 'sha512' | 'sha384' | 'sha1'
  /** Lower case, as Node gives header names. */
  header: string
  /** `timestamp` only: the signed text, cut at its placeholders. */
  template: readonly TemplatePart[]
  timestampHeader: string | null
  idHeader: string | null
  /** The current secret and, during a rotation, the previous one. */
  secrets: readonly string[]
}

export type TemplatePart = { text: string } | { placeholder: 'timestamp' | 'body' | 'id' }

export type SignedCall = {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  /** Seconds since 1970. */
  now: number
}

const TOLERANCE_SECONDS = 300
const DIGEST_BYTES = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 }
const MOST_SIGNATURES = 10

/** Whether a call carries a valid signature. Missing, malformed and wrong ones are all just false. */
export function isSigned(rule: SignatureRule, call: SignedCall): boolean {
  const header = single(call.headers[rule.header])
  if (header === undefined || header.trim() === '') return false
  switch (rule.scheme) {
    case 'token':
      return rule.secrets.some((secret) => sameText(header, secret))
    case 'body':
      return matches(rule, candidates(header, rule.algorithm), (key) =>
        digest(rule.algorithm, key, [call.body]),
      )
    case 'timestamp':
      return isSignedWithTime(rule, call, header)
  }
}

function isSignedWithTime(rule: SignatureRule, call: SignedCall, header: string): boolean {
  const time =
    rule.timestampHeader === null ? fieldOf(header, 't') : single(call.headers[rule.timestampHeader])
  const id = rule.idHeader === null ? '' : single(call.headers[rule.idHeader])
  if (time === undefined || id === undefined || !/^\d{1,12}$/.test(time)) return false
  if (Math.abs(call.now - Number(time)) > TOLERANCE_SECONDS) return false
  const parts = rule.template.map((part) => {
    if ('text' in part) return part.text
    return { timestamp: time, id, body: call.body }[part.placeholder]
  })
  return matches(rule, candidates(header, rule.algorithm), (key) => digest(rule.algorithm, key, parts))
}

/** Every candidate is compared with every secret's digest, so that the time taken tells nothing. */
function matches(rule: SignatureRule, given: Buffer[], expected: (key: string | Buffer) => Buffer): boolean {
  let found = false
  for (const secret of rule.secrets) {
    for (const wanted of keysOf(secret, rule.scheme).map(expected)) {
      for (const candidate of given)
        found = (candidate.length === wanted.length && timingSafeEqual(candidate, wanted)) || found
    }
  }
  return found
}

function digest(algorithm: string, key: string | Buffer, parts: (string | Buffer)[]): Buffer {
  const hmac = createHmac(algorithm, key)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

/**
 * Secrets are text. One that begins with `whsec_` may also hold the key in base64: Standard Webhooks means
 * it so, Stripe means the text.
 */
function keysOf(secret: string, scheme: SignatureRule['scheme']): (string | Buffer)[] {
  const encoded = scheme === 'timestamp' && /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return encoded ? [secret, Buffer.from(encoded, 'base64')] : [secret]
}

/**
 * The signatures in a header: comma- or space-separated, each bare or behind a name (`sha256=`, `v1=`,
 * `v1,`), in hex, base64 or base64url. Another algorithm's name rules a signature out.
 */
export function candidates(header: string, algorithm: SignatureRule['algorithm']): Buffer[] {
  return header
    .split(/[,\s]+/)
    .slice(0, MOST_SIGNATURES * 2)
    .flatMap((piece) => {
      const named = /^([A-Za-z][A-Za-z0-9]*)=(?=[^=])(.*)$/.exec(piece)
      const [name, value] = named ? [named[1]!.toLowerCase(), named[2]!] : [undefined, piece]
      if (name !== undefined && name in DIGEST_BYTES && name !== algorithm) return []
      return decode(value, DIGEST_BYTES[algorithm]) ?? decode(piece, DIGEST_BYTES[algorithm]) ?? []
    })
    .slice(0, MOST_SIGNATURES)
}

/** Strict: Node's decoders skip what they do not understand. */
function decode(text: string, bytes: number): Buffer | undefined {
  if (text.length === bytes * 2 && /^[0-9a-fA-F]+$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) && !/^[A-Za-z0-9_-]+={0,2}$/.test(text)) return undefined
  const decoded = Buffer.from(text, 'base64')
  if (decoded.length !== bytes) return undefined
  const bare = text.replace(/=+$/, '')
  const isWellPadded = bare === text || text.length % 4 === 0
  const isCanonical =
    bare === decoded.toString('base64').replace(/=+$/, '') || bare === decoded.toString('base64url')
  return isWellPadded && isCanonical ? decoded : undefined
}

function fieldOf(header: string, name: string): string | undefined {
  const prefix = `${name}=`
  return header
    .split(',')
    .map((piece) => piece.trim())
    .find((piece) => piece.startsWith(prefix))
    ?.slice(prefix.length)
}

/** Equal in constant time, whatever the lengths. */
function sameText(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

/** Also undefined for what no sender sent: a header may be named `constructor`, which every object has. */
function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** `v0:{timestamp}:{body}` → its parts. */
export function parseTemplate(template: string): TemplatePart[] {
  return template
    .split(/(\{(?:timestamp|body|id)\})/)
    .filter((part) => part !== '')
    .map((part) => {
      const placeholder = /^\{(timestamp|body|id)\}$/.exec(part)?.[1]
      return placeholder ? { placeholder: placeholder as 'timestamp' | 'body' | 'id' } : { text: part }
    })
}
