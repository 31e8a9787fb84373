import type { Context } from 'liquidjs'
import type { BodyPiece } from './body.ts'
import type { CompiledRequest, CompiledText } from './compile.ts'
import { engine, openContext } from './engine.ts'
import { renderProblem } from './errors.ts'
import { asText } from './filters.ts'
import { finishUrl, MAX_HEADER_LENGTH, sanitizeHeader } from './request-fields.ts'
import type { FastText } from './text.ts'

/** The values of names. What `reads` of the request does not list may be left out. */
export type TemplateContext = { event: object; action: object } & {
  [root in
    | 'application'
    | 'credential'
    | 'pipeline'
    | 'environment'
    | 'project'
    | 'organization'
    | 'captured'
    | 'request']?: object | null
}

export type Rendered =
  | { kind: 'rendered'; url: string; headers: Record<string, string>; body: Buffer | null }
  | { kind: 'failed'; field: string; message: string }

/** Thrown and caught in this file: a request is rendered completely or not at all. */
class RenderError extends Error {
  readonly field: string

  constructor(field: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.field = field
  }
}

/** The same request and context always render the same bytes. No error message contains a value. */
export function renderRequest(request: CompiledRequest, context: TemplateContext, isRetry = false): Rendered {
  const scope = openContext(context)
  try {
    const url = renderUrl(request, scope)
    const headers = renderHeaders(request, scope)
    return { kind: 'rendered', url, headers, body: renderBody(request, context, scope) }
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    const { field, message, cause } = error
    // The clock ended it, not the budget: the process may have been paused in the middle.
    const isTimeout = (cause as Error | undefined)?.message.startsWith('template render limit exceeded')
    if (isTimeout && !isRetry) return renderRequest(request, context, true)
    return { kind: 'failed', field, message }
  }
}

function renderUrl({ url }: CompiledRequest, scope: Context): string {
  const rendered = finishUrl(renderText(url.text, url.field, scope), url.origin)
  if (typeof rendered === 'string') throw new RenderError(url.field, rendered)
  return rendered.href
}

function renderHeaders({ headers }: CompiledRequest, scope: Context): Record<string, string> {
  return Object.fromEntries(
    headers.map(({ name, field, value }) => {
      const text = sanitizeHeader(renderText(value, field, scope))
      if (text.length > MAX_HEADER_LENGTH)
        throw new RenderError(field, `is longer than ${MAX_HEADER_LENGTH} characters when rendered`)
      return [name, text]
    }),
  )
}

function renderBody({ body }: CompiledRequest, context: TemplateContext, scope: Context): Buffer | null {
  if (body === null) return null
  if (body === 'event') return Buffer.from(JSON.stringify({ event: context.event, action: context.action }))
  const pieces = body.map((piece) => (typeof piece === 'string' ? piece : renderJson(piece, scope)))
  return Buffer.from(pieces.join(''))
}

function renderJson({ field, text }: Exclude<BodyPiece, string>, scope: Context): string {
  const rendered = renderText(text, field, scope)
  if (text.kind === 'fast' || !text.isInteger) return JSON.stringify(rendered)
  const number = rendered.trim()
  if (/^-?(?:0|[1-9]\d{0,18})$/.test(number)) return number
  throw new RenderError(field, 'is not an integer when rendered')
}

function renderText(text: CompiledText, field: string, scope: Context): string {
  if (typeof text === 'string') return text
  try {
    if (text.kind === 'fast') return renderFast(text.parts, scope)
    return engine.renderSync(text.templates, scope.spawn(scope.environments))
  } catch (error) {
    throw new RenderError(field, renderProblem(error), error)
  }
}

/** The stock renderer runs generators for every part of every name, which takes ten times as long. */
function renderFast(parts: FastText, context: Context): string {
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') text += part
    else text += part.write(asText.call({ context }, valueAt(context.environments, part.keys)))
  }
  return text
}

function valueAt(values: unknown, keys: readonly string[]): unknown {
  let value = values
  for (const key of keys) {
    if (value === null || value === undefined || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
