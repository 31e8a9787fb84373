import type { Context } from 'liquidjs'
import type { BodyPiece } from './body.ts'
import type { CompiledRequest, CompiledText } from './compile.ts'
import { engine, openContext } from './engine.ts'
import { isTimeout, renderProblem } from './errors.ts'
import { renderFast } from './fast-path.ts'
import { finishUrl, MAX_HEADER_LENGTH, sanitizeHeader } from './request-fields.ts'

/** The values of names. What `reads` of the request does not list may be left out. */
export type TemplateContext = { event: object; action: object } & {
  [root in 'application' | 'pipeline' | 'environment' | 'project' | 'organization']?: object | null
}

export type Rendered =
  | { kind: 'rendered'; url: string; headers: Record<string, string>; body: Buffer | null }
  | { kind: 'failed'; field: string; message: string }

/** Thrown and caught in this file: a request is rendered completely or not at all. */
class RenderError extends Error {
  readonly field: string
  readonly isTimeout: boolean

  constructor(field: string, message: string, isTimeout = false) {
    super(message)
    this.field = field
    this.isTimeout = isTimeout
  }
}

/** The same request and context always render the same bytes. No error message contains a value. */
export function renderRequest(request: CompiledRequest, context: TemplateContext): Rendered {
  const first = attempt(request, context)
  // A process that was paused in the middle is not the template's fault.
  const last = first instanceof RenderError && first.isTimeout ? attempt(request, context) : first
  return last instanceof RenderError ? { kind: 'failed', field: last.field, message: last.message } : last
}

function attempt(request: CompiledRequest, context: TemplateContext): Rendered | RenderError {
  const scope = openContext(context)
  try {
    const url = renderUrl(request, scope)
    const headers = renderHeaders(request, scope)
    return { kind: 'rendered', url, headers, body: renderBody(request, context, scope) }
  } catch (error) {
    if (error instanceof RenderError) return error
    throw error
  }
}

function renderUrl({ url }: CompiledRequest, scope: Context): string {
  const rendered = finishUrl(renderText(url.text, 'target_url', scope), url.origin)
  if (rendered.kind === 'problem') throw new RenderError('target_url', rendered.message)
  return rendered.url
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
  return Buffer.from(body.map((piece) => renderPiece(piece, scope)).join(''))
}

function renderPiece(piece: BodyPiece<CompiledText>, scope: Context): string {
  return typeof piece === 'string' ? piece : JSON.stringify(renderText(piece.text, piece.field, scope))
}

function renderText(text: CompiledText, field: string, scope: Context): string {
  if (typeof text === 'string') return text
  try {
    if (text.kind === 'fast') return renderFast(text.parts, scope)
    return engine.renderSync(text.templates, scope.spawn(scope.environments))
  } catch (error) {
    throw new RenderError(field, renderProblem(error), isTimeout(error))
  }
}
