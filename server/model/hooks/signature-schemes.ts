import { createHmac, hash, timingSafeEqual } from 'node:crypto'

// A new scheme: a SignatureScheme (here or in a separate file) and its entry in SIGNATURE_SCHEMES. The API schema and its
// description, the validation of hooks, the masking of stored headers and the verification of calls all read this registry.

/** How calls to a hook are signed; docs/guides/senders.md has an example for each sender. */
export type SignatureRule = {
  scheme: SchemeName
  algorithm: 'sha256' | 'sha512' | 'sha384' | 'sha1'
  /** Lower case, like Node's header names. */
  header: string
  /** `timestamp` only: the signed text, split at its placeholders. */
  template: readonly TemplatePart[]
  timestampHeader: string | null
  idHeader: string | null
  /** The current secret and, during a rotation, the previous one. */
  secrets: readonly string[]
}

type TemplatePart = { text: string } | { placeholder: 'timestamp' | 'body' | 'id' }

type SignedCall = {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  /** Seconds since 1970. */
  now: number
}

/** `id`: for schemes that sign one. */
type UnsignedCall = { body: string; id: string; now: number }

type SchemeSettings = Partial<Record<'template' | 'timestamp_header' | 'id_header', string | null>>

/** Why a signature is not accepted. Only users who may edit the hook get to know. */
export const SIGNATURE_PROBLEMS = ['header_missing', 'prefix', 'encoding', 'mismatch', 'timestamp'] as const
export type SignatureProblem = (typeof SIGNATURE_PROBLEMS)[number]

export type SignatureScheme = {
  /** For the description of the API: a sentence that follows the name. */
  description: string
  /**
   * Null when the signature is valid. `header` is the signature header's value; empty when it is missing. Takes equally
   * long whatever the problem is, so it computes the digests first.
   */
  check(rule: SignatureRule, call: SignedCall, header: string): SignatureProblem | null
  /** The headers of a call that a sender signs with the current secret; null when they contain the secret itself. */
  sign(rule: SignatureRule, call: UnsignedCall): Record<string, string> | null
  /** The header contains the secret itself, so it must not be stored. */
  sendsSecret: boolean
  /** What is wrong with the settings of a hook, by field. */
  checkSettings(settings: SchemeSettings): SchemeSettings
}

const TOLERANCE_SECONDS = 300
const DIGEST_BYTES = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 }
const MAX_SIGNATURES = 10
/** Prefixes of signatures, also those of hashes that no hook can have. Others, such as `v1`, are versions. */
const NAMES_A_HASH = /^(sha|md5|blake)/

const token: SignatureScheme = {
  description: 'the header equals the secret.',
  check: ({ secrets }, _call, header) =>
    secrets.map((secret) => isSameText(header, secret)).includes(true) ? null : 'mismatch',
  sign: () => null,
  sendsSecret: true,
  checkSettings: allowNoSettings,
}

const body: SignatureScheme = {
  description: 'an HMAC of the body.',
  check: (rule, call, header) => compare(rule, header, [call.body], (secret) => [secret]),
  sign({ header, algorithm, secrets }, call) {
    const digest = createHmac(algorithm, secrets[0]!).update(call.body).digest('hex')
    return { [header]: header.startsWith('x-hub-signature') ? `${algorithm}=${digest}` : digest }
  },
  sendsSecret: false,
  checkSettings: allowNoSettings,
}

/** The timestamp must be recent. */
const timestamp: SignatureScheme = {
  description: 'an HMAC of a template with a timestamp.',
  check(rule, call, header) {
    const time =
      rule.timestampHeader === null ? fieldOf(header, 't') : single(call.headers[rule.timestampHeader])
    const id = rule.idHeader === null ? '' : single(call.headers[rule.idHeader])
    const values = { timestamp: time ?? '', id: id ?? '', body: call.body }
    const parts = rule.template.map((part) => ('text' in part ? part.text : values[part.placeholder]))
    const problem = compare(rule, header, parts, withDecodedKey)
    if (id === undefined) return 'header_missing'
    if (time === undefined || !/^\d{1,12}$/.test(time)) return 'timestamp'
    return Math.abs(call.now - Number(time)) > TOLERANCE_SECONDS ? 'timestamp' : problem
  },
  sign({ header, algorithm, secrets, template, timestampHeader, idHeader }, call) {
    const values = { timestamp: String(Math.floor(call.now)), id: call.id, body: call.body }
    const signed = template.map((part) => ('text' in part ? part.text : values[part.placeholder])).join('')
    const keys = withDecodedKey(secrets[0]!)
    const digest = createHmac(algorithm, idHeader === null ? keys[0]! : keys.at(-1)!)
      .update(signed)
      .digest(idHeader === null ? 'hex' : 'base64')
    // As Standard Webhooks, Stripe, Slack and Grafana write it, in this order; the check accepts each of them.
    const version = /^(v\d+):/.exec(signed)?.[1]
    const bare = version === undefined ? digest : `${version}=${digest}`
    const fields = `t=${values.timestamp},v1=${digest}`
    return {
      [header]: idHeader !== null ? `v1,${digest}` : timestampHeader === null ? fields : bare,
      ...(timestampHeader !== null && { [timestampHeader]: values.timestamp }),
      ...(idHeader !== null && { [idHeader]: values.id }),
    }
  },
  sendsSecret: false,
  checkSettings({ template, id_header }) {
    const text = template ?? ''
    return {
      ...(!(text.includes('{body}') && text.includes('{timestamp}')) && {
        template: 'must contain {timestamp} and {body}, such as {timestamp}.{body}',
      }),
      ...(text.includes('{id}') !== (id_header != null) && {
        id_header: 'is required if, and only if, the template contains {id}',
      }),
    }
  },
}

export const SIGNATURE_SCHEMES = { body, timestamp, token } satisfies Record<string, SignatureScheme>
export type SchemeName = keyof typeof SIGNATURE_SCHEMES
export const SCHEME_NAMES = Object.keys(SIGNATURE_SCHEMES) as SchemeName[]
export const SCHEME_DESCRIPTIONS = Object.entries(SIGNATURE_SCHEMES)
  .map(([name, { description }]) => `\`${name}\`: ${description}`)
  .join(' ')

/** What is wrong with the signature of a call; null when it is valid. */
export function signatureProblem(rule: SignatureRule, call: SignedCall): SignatureProblem | null {
  const header = single(call.headers[rule.header]) ?? ''
  const problem = SIGNATURE_SCHEMES[rule.scheme].check(rule, call, header)
  return header.trim() === '' ? 'header_missing' : problem
}

function allowNoSettings(settings: SchemeSettings): SchemeSettings {
  const given = Object.entries(settings).filter(([, value]) => value != null)
  return Object.fromEntries(given.map(([name]) => [name, 'is only allowed with the scheme timestamp']))
}

/** Every candidate is compared with every secret's digest, so that timing reveals nothing. */
function compare(
  { secrets, algorithm }: SignatureRule,
  header: string,
  signed: (string | Buffer)[],
  keysOf: (secret: string) => (string | Buffer)[],
): SignatureProblem | null {
  const { decoded, problem } = candidates(header, algorithm)
  let found = false
  for (const key of secrets.flatMap(keysOf)) {
    const hmac = createHmac(algorithm, key)
    for (const part of signed) hmac.update(part)
    const expected = hmac.digest()
    for (const candidate of decoded)
      found = (candidate.length === expected.length && timingSafeEqual(candidate, expected)) || found
  }
  return found ? null : problem
}

/**
 * A secret is text. One that begins with `whsec_` may also hold the key in base64: Standard Webhooks uses it that way,
 * Stripe uses the text.
 */
function withDecodedKey(secret: string): (string | Buffer)[] {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return encoded ? [secret, Buffer.from(encoded, 'base64')] : [secret]
}

/**
 * The signatures in a header: separated by commas or spaces, each bare or prefixed (`sha256=`, `v1=`,
 * `v1,`), in hex, base64 or base64url. The name of another hash excludes a signature. `problem`: what is wrong when
 * none of them matches.
 */
function candidates(
  header: string,
  algorithm: SignatureRule['algorithm'],
): { decoded: Buffer[]; problem: SignatureProblem } {
  const usual = decodeUsual(header, algorithm)
  if (usual) return { decoded: [usual], problem: 'mismatch' }
  let ofOtherAlgorithms = 0
  const decoded = header
    .split(/[,\s]+/)
    .slice(0, MAX_SIGNATURES * 2)
    .flatMap((piece) => {
      const named = /^([A-Za-z][A-Za-z0-9]*)=(?=[^=])(.*)$/.exec(piece)
      const [name, value] = named ? [named[1]!.toLowerCase(), named[2]!] : [undefined, piece]
      if (name !== undefined && NAMES_A_HASH.test(name) && name !== algorithm) {
        ofOtherAlgorithms += 1
        return []
      }
      return decode(value, DIGEST_BYTES[algorithm]) ?? decode(piece, DIGEST_BYTES[algorithm]) ?? []
    })
    .slice(0, MAX_SIGNATURES)
  if (decoded.length > 0) return { decoded, problem: 'mismatch' }
  return { decoded, problem: ofOtherAlgorithms > 0 ? 'prefix' : 'encoding' }
}

/** One signature in hex after the name of its algorithm, as GitHub and many others send it: read without all the rest. */
function decodeUsual(header: string, algorithm: SignatureRule['algorithm']): Buffer | undefined {
  const hexAt = algorithm.length + 1
  if (header.length !== hexAt + DIGEST_BYTES[algorithm] * 2 || !header.startsWith(`${algorithm}=`))
    return undefined
  const decoded = Buffer.from(header.slice(hexAt), 'hex')
  // It ends at the first character that is not hex.
  return decoded.length === DIGEST_BYTES[algorithm] ? decoded : undefined
}

/** Strict: Node's decoders skip invalid characters. */
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

/** Constant time, whatever the lengths. */
function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

/** Undefined also for inherited properties: a header may be named `constructor`. */
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
