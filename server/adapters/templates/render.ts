import type { Context } from 'liquidjs'
import type { BodyPiece } from './body.ts'
import type { CompiledRequest, CompiledText } from './compile.ts'
import { renderDirect } from './direct.ts'
import { engine, openContext } from './engine.ts'
import { isLate, renderingFault } from './faults.ts'
import { cleanValue, LONGEST_VALUE } from './headers.ts'
import { finishUrl } from './url.ts'

/** The values that names stand for. What `reads` of the request does not list may be left out. */
export type TemplateContext = { event: object; action: object } & {
  [root in 'application' | 'pipeline' | 'environment' | 'project' | 'organization']?: object | null
}

export type Rendered =
  | { kind: 'rendered'; url: string; headers: Record<string, string>; body: Buffer | null }
  | { kind: 'fault'; field: string; message: string }

/** Thrown and caught in this file: a request is rendered whole or not at all. */
class Unrenderable extends Error {
  readonly field: string
  readonly late: boolean

  constructor(field: string, message: string, late = false) {
    super(message)
    this.field = field
    this.late = late
  }
}

/** The same request and context always give the same bytes. No message of a fault contains a value. */
export function renderRequest(request: CompiledRequest, context: TemplateContext): Rendered {
  const first = attempt(request, context)
  // A process that was held up in the middle of it is no fault of the template.
  const last = first instanceof Unrenderable && first.late ? attempt(request, context) : first
  return last instanceof Unrenderable ? { kind: 'fault', field: last.field, message: last.message } : last
}

function attempt(request: CompiledRequest, context: TemplateContext): Rendered | Unrenderable {
  const scope = openContext(context)
  try {
    const url = renderUrl(request, scope)
    const headers = renderHeaders(request, scope)
    return { kind: 'rendered', url, headers, body: renderBody(request, context, scope) }
  } catch (error) {
    if (error instanceof Unrenderable) return error
    throw error
  }
}

function renderUrl({ url }: CompiledRequest, scope: Context): string {
  const address = finishUrl(renderText(url.text, 'target_url', scope), url.origin)
  if (address.kind === 'fault') throw new Unrenderable('target_url', address.message)
  return address.url
}

function renderHeaders({ headers }: CompiledRequest, scope: Context): Record<string, string> {
  return Object.fromEntries(
    headers.map(({ name, field, value }) => {
      const text = cleanValue(renderText(value, field, scope))
      if (text.length > LONGEST_VALUE)
        throw new Unrenderable(field, `is longer than ${LONGEST_VALUE} characters when rendered`)
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
    if (text.kind === 'direct') return renderDirect(text.parts, scope)
    return engine.renderSync(text.templates, scope.spawn(scope.environments))
  } catch (error) {
    throw new Unrenderable(field, renderingFault(error), isLate(error))
  }
}
