import type { ErrorsByField } from '#platform/http/validation.ts'
import { type BodyPiece, bodyFault, cutBody } from './body.ts'
import { describeFault, type Fault } from './faults.ts'
import { nameFault, valueFaults } from './headers.ts'
import type { Place } from './inspect.ts'
import type { NameTree } from './names.ts'
import { type Compiled, countExpressions, type ParsedText, parseText } from './text.ts'
import { originOf, urlFaults } from './url.ts'

export type HookRequest = {
  target_url: string
  settings: {
    request_headers: readonly { name: string; value: string }[]
    request_body: Record<string, unknown> | null
    request_method: string
  }
}

/** A text as it stands, or a template. */
export type CompiledText = string | Compiled

export type CompiledRequest = {
  url: { text: CompiledText; origin: string }
  headers: readonly { name: string; field: string; value: CompiledText }[]
  /** `event` sends the event itself. */
  body: readonly BodyPiece<Compiled>[] | 'event' | null
  usesAccessToken: boolean
  /** What must be known for rendering: `action.status`, `action.*` for all below, `*` for event and action whole. */
  reads: ReadonlySet<string>
}

export type CompileOutcome =
  | { kind: 'compiled'; request: CompiledRequest }
  | { kind: 'faults'; errors: ErrorsByField }

const MOST_EXPRESSIONS = 200
const MOST_FAULTS = 100
const LONGEST_FIELD = 256

/** Finds all faults of a hook's request at once, or makes it ready for rendering. */
export function compileRequest(hook: HookRequest, names: NameTree): CompileOutcome {
  const errors: ErrorsByField = {}
  const reads = new Set<string>()
  let usesAccessToken = false
  let expressions = 0
  let faults = 0

  const url = compileUrl()
  const headers = compileHeaders()
  const body = compileBody()
  if (faults > 0) return { kind: 'faults', errors }
  if (body === 'event') reads.add('*')
  return { kind: 'compiled', request: { url, headers, body, usesAccessToken, reads } }

  function compileUrl(): CompiledRequest['url'] {
    const text = hook.target_url
    const parsed = read(text, 'target_url', 'address', (parsed) => urlFaults(text, parsed))
    if (faults > 0 || parsed.kind === 'faults') return { text, origin: '' }
    return parsed.kind === 'plain'
      ? { text, origin: originOf(text) }
      : { text: parsed.compiled, origin: originOf(parsed.shape) }
  }

  function compileHeaders(): CompiledRequest['headers'] {
    const seen = new Set<string>()
    return hook.settings.request_headers.map(({ name, value }, index) => {
      const field = `settings.request_headers.${index}`
      const wrong = nameFault(name, seen)
      if (wrong) add(`${field}.name`, wrong)
      seen.add(name.toLowerCase())
      const parsed = read(value, `${field}.value`, 'text', ({ literals }) => valueFaults(literals))
      return { name, field: `${field}.value`, value: parsed.kind === 'template' ? parsed.compiled : value }
    })
  }

  function compileBody(): CompiledRequest['body'] {
    const { request_body: body, request_method: method } = hook.settings
    if (body === null) return method === 'GET' ? null : 'event'
    const wrong = bodyFault(body)
    if (wrong) {
      add(wrong.field, wrong.message)
      return null
    }
    const pieces = cutBody(body, (text, field) => {
      const parsed = read(text, field, 'text')
      return parsed.kind === 'template' ? parsed.compiled : undefined
    })
    return method === 'GET' ? null : pieces
  }

  function read(
    text: string,
    field: string,
    place: Place,
    check: (parsed: Exclude<ParsedText, { kind: 'faults' }>) => Fault[] = () => [],
  ): ParsedText {
    const before = expressions
    expressions += countExpressions(text)
    if (expressions > MOST_EXPRESSIONS) {
      if (before <= MOST_EXPRESSIONS) add(field, `is past the ${MOST_EXPRESSIONS} expressions of one request`)
      return { kind: 'faults', faults: [] }
    }
    const parsed = parseText(text, names, place)
    const found = parsed.kind === 'faults' ? parsed.faults : check(parsed)
    if (parsed.kind === 'template') {
      found.push(...parsed.faults)
      for (const name of parsed.reads) reads.add(name)
      usesAccessToken ||= parsed.usesSecret
    }
    for (const fault of found) add(field, () => describeFault(text, fault))
    return parsed
  }

  function add(field: string, message: string | (() => string)): void {
    faults += 1
    if (faults > MOST_FAULTS) return
    const name = field.slice(0, LONGEST_FIELD)
    const text = typeof message === 'string' ? message : message()
    errors[name] = [...new Set([...(errors[name] ?? []), text])]
  }
}
