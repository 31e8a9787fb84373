import { gunzipSync } from 'node:zlib'
import { describeJsonError } from '#platform/http/json-error.ts'
import type { Headers } from './sender-headers.ts'

/** The JSON body of a call, or why it is rejected. Whatever a sender sends must end here, not in an exception. */
export type ParsedPayload =
  | { kind: 'parsed'; value: unknown; text: string }
  | { kind: 'malformed'; message: string }
  | { kind: 'unsupported' }

export const MAX_PAYLOAD_DEPTH = 256

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parsePayload(contentType: string | undefined, body: Buffer): ParsedPayload {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  const isForm = type === 'application/x-www-form-urlencoded'
  if (type !== '' && !isForm && !/^application\/([\w.-]+\+)?json$/.test(type)) return { kind: 'unsupported' }
  let text: string
  try {
    text = utf8.decode(body)
  } catch {
    return malformed('is not valid UTF-8')
  }
  if (isTooDeep(text)) return TOO_DEEP
  if (text.trim() === '') return malformed('is empty')
  return isForm ? parseForm(text) : parseJson(text)
}

/** JSON with a form's content type, as curl sends it by default, or a form whose field `payload` is JSON. */
function parseForm(text: string): ParsedPayload {
  const direct = parse(text)
  if (direct !== undefined) return { kind: 'parsed', value: direct, text }
  const payload = new URLSearchParams(text).get('payload')
  if (payload === null) return malformed('is neither JSON nor a form with a field named payload')
  // Its brackets were escaped in the body, and were not counted there.
  if (isTooDeep(payload)) return TOO_DEEP
  return parseJson(payload, 'is a form whose field named payload is not valid JSON')
}

function parseJson(text: string, otherwise = 'is not valid JSON'): ParsedPayload {
  const value = parse(text)
  return value === undefined
    ? malformed(`${otherwise}: ${describeJsonError(text)}`)
    : { kind: 'parsed', value, text }
}

/** Undefined for text that is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function malformed(what: string): ParsedPayload {
  return { kind: 'malformed', message: `The body ${what}.` }
}

const TOO_DEEP = malformed(`is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = ['{', '[']

/** Most payloads have fewer brackets than the maximum depth: then there is no need to track nesting. */
function isTooDeep(text: string): boolean {
  let brackets = 0
  for (const bracket of OPENING) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      brackets += 1
      if (brackets > MAX_PAYLOAD_DEPTH) return depthOf(Buffer.from(text)) > MAX_PAYLOAD_DEPTH
    }
  }
  return false
}

/** The nesting depth of brackets outside of strings; counted on the bytes, before parsing. */
export function depthOf(body: Buffer): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]!
    if (byte === QUOTE) {
      for (at += 1; at < body.length && body[at] !== QUOTE; at += 1) if (body[at] === BACKSLASH) at += 1
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1
    }
  }
  return deepest
}

/** What the bytes of a call contain once their encoding is undone, or why it cannot be undone. */
export type Decoded =
  | { kind: 'decoded'; body: Buffer }
  | { kind: 'undecodable'; code: 'malformed' | 'too_large'; message: string }

/**
 * Pure: undoes gzip, the one encoding that is understood. Inflating stops at `maxBytes`, so a small body cannot fill
 * the memory. It does not yield: calls wait for each other instead of each holding an inflated body, and parsing the
 * result takes longer.
 */
export function decodeBody(headers: Headers, body: Buffer, maxBytes: number): Decoded {
  if (encodingOf(headers) !== 'gzip') return { kind: 'decoded', body }
  try {
    return { kind: 'decoded', body: gunzipSync(body, { maxOutputLength: maxBytes }) }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? undecodable('too_large', `The inflated body is larger than ${maxBytes} bytes.`)
      : undecodable('malformed', 'The body is not valid gzip.')
  }
}

function undecodable(code: 'malformed' | 'too_large', message: string): Decoded {
  return { kind: 'undecodable', code, message }
}

/** Null: an encoding that is not understood, or several on top of each other. */
export function encodingOf(headers: Headers): 'identity' | 'gzip' | null {
  const header = headers['content-encoding']
  if (header === undefined) return 'identity'
  const names = String(header).toLowerCase().split(',')
  const applied = names.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity')
  if (applied.length === 0) return 'identity'
  return applied.length === 1 && (applied[0] === 'gzip' || applied[0] === 'x-gzip') ? 'gzip' : null
}
