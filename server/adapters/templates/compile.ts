import type { ErrorsByField } from '#platform/http/validation.ts'
import { type BodyPiece, bodyProblem, splitBody } from './body.ts'
import { describeProblem, type Problem } from './errors.ts'
import type { OutputKind } from './inspect.ts'
import type { NameTree } from './names.ts'
import { headerNameProblem, headerValueProblems, urlProblems } from './request-fields.ts'
import { type Compiled, countExpressions, type ParsedText, parseText } from './text.ts'

export type HookRequest = {
  target_url: string
  settings: {
    request_headers: readonly { name: string; value: string }[]
    request_body: Record<string, unknown> | null
    request_method: string
  }
}

/** A plain text, or a template. */
export type CompiledText = string | Compiled

export type CompiledRequest = {
  url: { text: CompiledText; origin: string; field: string }
  headers: readonly { name: string; field: string; value: CompiledText }[]
  /** `event` sends the event itself. */
  body: readonly BodyPiece[] | 'event' | null
  usesAccessToken: boolean
  /**
   * What rendering needs: `action.status`, `action.*` for everything below, `*` for the whole event and action.
   * Secrets are there with their full names, too.
   */
  reads: ReadonlySet<string>
}

const MAX_EXPRESSIONS = 200
const MAX_PROBLEMS = 100
const MAX_FIELD_LENGTH = 256

/** Finds all problems of a hook's request at once, or prepares it for rendering. `at`: where it is in the hook. */
export function compileRequest(
  hook: HookRequest,
  names: NameTree,
  at?: string,
): { kind: 'compiled'; request: CompiledRequest } | { kind: 'invalid'; errors: ErrorsByField } {
  const errors: ErrorsByField = {}
  const urlField = at === undefined ? 'target_url' : `${at}.target_url`
  const reads = new Set<string>()
  let usesAccessToken = false
  let expressions = 0
  let problems = 0

  const url = compileUrl()
  const headers = compileHeaders()
  const body = compileBody()
  if (problems > 0) return { kind: 'invalid', errors }
  if (body === 'event') reads.add('*')
  return { kind: 'compiled', request: { url, headers, body, usesAccessToken, reads } }

  function compileUrl(): CompiledRequest['url'] {
    const text = hook.target_url
    const parsed = read(text, urlField, 'url', (parsed) => urlProblems(text, parsed))
    if (problems > 0 || parsed.kind === 'invalid') return { text, origin: '', field: urlField }
    return parsed.kind === 'plain'
      ? { text, origin: new URL(text).origin, field: urlField }
      : { text: parsed.compiled, origin: new URL(parsed.shape).origin, field: urlField }
  }

  function compileHeaders(): CompiledRequest['headers'] {
    const seen = new Set<string>()
    return hook.settings.request_headers.map(({ name, value }, index) => {
      const field = `${at ?? 'settings'}.request_headers.${index}`
      const wrong = headerNameProblem(name, seen)
      if (wrong) add(`${field}.name`, wrong)
      seen.add(name.toLowerCase())
      const parsed = read(value, `${field}.value`, 'text', ({ literals }) => headerValueProblems(literals))
      return { name, field: `${field}.value`, value: parsed.kind === 'template' ? parsed.compiled : value }
    })
  }

  function compileBody(): CompiledRequest['body'] {
    const { request_body: body, request_method: method } = hook.settings
    if (body === null) return method === 'GET' ? null : 'event'
    const bodyField = `${at ?? 'settings'}.request_body`
    const wrong = bodyProblem(body, bodyField)
    if (wrong) {
      add(wrong.field, wrong.message)
      return null
    }
    const pieces = splitBody(body, bodyField, (text, field) => {
      const parsed = read(text, field, 'text')
      return parsed.kind === 'template' ? parsed.compiled : undefined
    })
    return method === 'GET' ? null : pieces
  }

  function read(
    text: string,
    field: string,
    kind: OutputKind,
    check: (parsed: Exclude<ParsedText, { kind: 'invalid' }>) => Problem[] = () => [],
  ): ParsedText {
    const before = expressions
    expressions += countExpressions(text)
    if (expressions > MAX_EXPRESSIONS) {
      if (before <= MAX_EXPRESSIONS)
        add(field, `exceeds the limit of ${MAX_EXPRESSIONS} expressions per request`)
      return { kind: 'invalid', problems: [] }
    }
    const parsed = parseText(text, names, kind)
    const found = parsed.kind === 'invalid' ? parsed.problems : check(parsed)
    if (parsed.kind === 'template') {
      found.push(...parsed.problems)
      for (const name of parsed.reads) reads.add(name)
      usesAccessToken ||= parsed.usesSecret
    }
    for (const problem of found) add(field, describeProblem(text, problem))
    return parsed
  }

  function add(field: string, message: string): void {
    problems += 1
    if (problems > MAX_PROBLEMS) return
    const name = field.slice(0, MAX_FIELD_LENGTH)
    errors[name] = [...new Set([...(errors[name] ?? []), message])]
  }
}
