import type { Fault } from './faults.ts'
import type { ParsedText } from './text.ts'

const LONGEST = 8192
const AUTHORITY = /^https?:\/\/[^/?#\\]+[/?#]/i
const HOST_FIXED = 'must not contain template expressions before the path: a payload must not choose the host'

export type Address = { kind: 'address'; url: string } | { kind: 'fault'; message: string }

/** What a schema cannot say about an address. Expressions may stand in path, query and fragment only. */
export function urlFaults(text: string, parsed: Exclude<ParsedText, { kind: 'faults' }>): Fault[] {
  const faults = parsed.literals.flatMap(({ at, text }) => {
    const found = text.search(/[\s\\\0-\x20\x7f-\x9f]/)
    return found === -1
      ? []
      : [{ at: at + found, message: 'must not contain whitespace, control characters or \\' }]
  })
  if (faults.length > 0) return faults
  if (parsed.kind === 'template' && !AUTHORITY.test(text.slice(0, parsed.begin)))
    return [{ at: parsed.begin, message: HOST_FIXED }]
  const message = shapeFault(parsed.kind === 'template' ? parsed.shape : text)
  return message ? [{ at: 0, message }] : []
}

function shapeFault(shape: string): string | undefined {
  if (!/^https?:\/\//i.test(shape)) return 'must begin with http:// or https://'
  if (!/^https?:\/\/[^/?#]/i.test(shape)) return 'must name a host'
  const url = URL.parse(shape)
  if (!url) return 'must be a valid address'
  if (url.username || url.password || /^[^/]*\/\/[^/?#]*@/.test(shape))
    return 'must not contain a user name or a password: use a header'
  if (hasDotSegment(shape)) return 'must not contain the path segments . and ..'
  return undefined
}

/** A rendered address, unless what was filled in would lead elsewhere. `origin` is that of the saved address. */
export function finishUrl(text: string, origin: string): Address {
  if (text.length > LONGEST)
    return { kind: 'fault', message: `is longer than ${LONGEST} characters when rendered` }
  // Parsing resolves such segments, encoded ones too, and so would leave the path that was saved.
  if (hasDotSegment(text)) return { kind: 'fault', message: 'has the path segment . or .. when rendered' }
  const url = URL.parse(text)
  if (url?.origin !== origin)
    return { kind: 'fault', message: 'is no address of the same host when rendered' }
  return { kind: 'address', url: url.href }
}

export function originOf(shape: string): string {
  return new URL(shape).origin
}

function hasDotSegment(text: string): boolean {
  return /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(text)
}
