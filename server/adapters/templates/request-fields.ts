// Checks of the URL and the headers of a hook's request, when it is saved and when it is rendered.
import type { Problem } from './errors.ts'
import type { Literal, ParsedText } from './text.ts'

const MAX_URL_LENGTH = 8192
const AUTHORITY = /^https?:\/\/[^/?#\\]+[/?#]/i
const HOST_FIXED = 'must not contain template expressions before the path: a payload must not choose the host'

/** What a schema cannot check. Expressions are allowed in path, query and fragment only. */
export function urlProblems(text: string, parsed: Exclude<ParsedText, { kind: 'invalid' }>): Problem[] {
  const forbidden = /[\s\\\0-\x20\x7f-\x9f]/
  const problems = characterProblems(
    parsed.literals,
    forbidden,
    'must not contain whitespace, control characters or \\',
  )
  if (problems.length > 0) return problems
  if (parsed.kind === 'template' && !AUTHORITY.test(text.slice(0, parsed.begin)))
    return [{ at: parsed.begin, message: HOST_FIXED }]
  const message = shapeProblem(parsed.kind === 'template' ? parsed.shape : text)
  return message ? [{ at: 0, message }] : []
}

/** The first forbidden character of each literal. */
function characterProblems(literals: readonly Literal[], forbidden: RegExp, message: string): Problem[] {
  return literals.flatMap(({ at, text }) => {
    const found = text.search(forbidden)
    return found === -1 ? [] : [{ at: at + found, message }]
  })
}

function shapeProblem(shape: string): string | undefined {
  if (!/^https?:\/\//i.test(shape)) return 'must begin with http:// or https://'
  if (!/^https?:\/\/[^/?#]/i.test(shape)) return 'must have a host'
  const url = URL.parse(shape)
  if (!url) return 'must be a valid URL'
  if (url.username || url.password || /^[^/]*\/\/[^/?#]*@/.test(shape))
    return 'must not contain a user name or password: use a header'
  if (hasDotSegment(shape)) return 'must not contain the path segments . and ..'
  return undefined
}

/** A rendered URL; or a problem, when the values would lead elsewhere. `origin` is that of the saved URL. */
export function finishUrl(text: string, origin: string): URL | string {
  if (text.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters when rendered`
  // Parsing resolves such segments, even encoded ones, and would leave the saved path.
  if (hasDotSegment(text)) return 'has the path segment . or .. when rendered'
  const url = URL.parse(text)
  return url?.origin === origin ? url : 'does not have the saved host when rendered'
}

function hasDotSegment(text: string): boolean {
  return /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(text)
}

/** Headers that belong to the connection or to the signature. */
const RESERVED = new Set(
  `connection content-length expect host keep-alive te trailer transfer-encoding
  upgrade webhook-id webhook-signature webhook-timestamp`.split(/\s+/),
)

export const MAX_HEADER_LENGTH = 8192

export function headerNameProblem(name: string, earlier: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase()
  if (RESERVED.has(lower) || lower.startsWith('proxy-')) return 'is set by Gantry and cannot be overridden'
  return earlier.has(lower) ? 'is given twice (header names are case-insensitive)' : undefined
}

export function headerValueProblems(literals: readonly Literal[]): Problem[] {
  return characterProblems(
    literals,
    /[^\t\x20-\x7e\x80-\xff]/,
    'has a character that is not allowed in headers',
  )
}

/** No value can end a header and begin another one. */
export function sanitizeHeader(text: string): string {
  return text
    .replaceAll(/[\0-\x1f\x7f]+/g, ' ')
    .replaceAll(/[^\x20-\x7e\x80-\xff]/gu, '?')
    .trim()
}
