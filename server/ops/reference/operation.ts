import type { ShownAccess } from './access.ts'
import {
  type Answer,
  type Content,
  isError,
  nameOf,
  type Operation,
  type Reference,
  withoutNull,
} from './document.ts'
import { highlight, html, paragraphs, prose } from './html.ts'
import { acceptOf, curlSample, sampleBody, typescriptSample } from './samples.ts'
import { hasFields, renderField, renderFields, renderReference, typeOf } from './schema-tree.ts'

/** One call: what it does and takes on one side, code and examples on the other. */
export function renderOperation(
  operation: Operation,
  reference: Pick<Reference, 'url' | 'schemas' | 'inlined' | 'errors'>,
  access: ShownAccess | undefined,
): string {
  const { id, method, path, summary, description, body } = operation
  const { schemas } = reference
  const sent = sampleBody(operation, schemas)
  return `<article id="${html(id)}" class="operation" data-method="${method}" data-path="${html(path)}"${dataOf(operation)}>
<div class="explanation">
<h3><a href="#${html(id)}">${html(summary)}</a></h3>
<p class="address"><b class="method" data-verb="${method}">${method}</b> <code>${breakable(path)}</code>${operation.isDeprecated ? ' <span class="mark">deprecated</span>' : ''}</p>
<div class="description">${paragraphs(description)}</div>
${access ? renderAccess(access) : ''}
${renderParameters(operation, schemas)}
${body ? renderBody(body, reference) : ''}
${renderAnswers(operation.answers, schemas)}
${renderErrors(operation.answers, reference.errors)}
</div>
<div class="samples">
${renderCode('curl', curlSample(operation, reference))}
${renderCode('TypeScript', typescriptSample(operation, reference))}
${sent === undefined ? '' : `<template class="body">${html(typeof sent === 'string' ? sent : JSON.stringify(sent, null, 2))}</template>`}
${operation.answers.map(renderExample).join('')}
</div>
</article>`
}

/** What a script needs to know to send the call, besides what the page shows. */
function dataOf(operation: Operation): string {
  const accept = acceptOf(operation)
  const type = operation.body?.type ?? 'application/json'
  return [
    operation.isPublic ? ' data-public' : '',
    accept === undefined ? '' : ` data-accept="${html(accept)}"`,
    type === 'application/json' ? '' : ` data-type="${html(type)}"`,
  ].join('')
}

function renderAccess({ who, token }: ShownAccess): string {
  const scope = token === undefined ? '' : `<dt>Token scope</dt><dd>${token}</dd>`
  return `<dl class="access"><dt>Permission</dt><dd>${who}</dd>${scope}</dl>`
}

const LOCATIONS = { path: 'Path parameters', query: 'Query parameters', header: 'Headers' }

function renderParameters({ parameters }: Operation, schemas: Reference['schemas']): string {
  return Object.entries(LOCATIONS)
    .map(([location, title]) => {
      const items = parameters
        .filter((one) => one.in === location)
        .map((one) => renderField({ ...one, data: ` data-in="${location}"` }, schemas, 'request'))
      return items.length > 0 ? `<h4>${title}</h4><ul class="fields">${items.join('')}</ul>` : ''
    })
    .join('')
}

function renderBody(
  body: NonNullable<Operation['body']>,
  { schemas, inlined }: Pick<Reference, 'schemas' | 'inlined'>,
): string {
  const type = body.type === 'application/json' ? '' : ` <span class="mark">${html(body.type)}</span>`
  const optional = body.required ? '' : ' <span class="mark">optional</span>'
  const name = nameOf(body.schema) ?? ''
  const id = inlined.has(name) ? ` id="schema-${html(name)}"` : ''
  return `<h4 class="body"${id}>Body${type}${optional}</h4>${paragraphs(body.description)}${renderFields(body.schema, schemas, 'request')}`
}

function renderAnswers(answers: Answer[], schemas: Reference['schemas']): string {
  const items = answers
    .filter((answer) => !isError(answer))
    .map(
      (answer) =>
        `<li>${renderStatus(answer)}${renderContent(answer.content, schemas)}${renderHeaders(answer)}</li>`,
    )
  return items.length > 0 ? `<h4>Responses</h4><ul class="answers">${items.join('')}</ul>` : ''
}

/** Errors that mean what they mean everywhere are explained once, in a section of their own. */
function renderErrors(answers: Answer[], common: Reference['errors']): string {
  const errors = answers.filter(isError)
  if (errors.length === 0) return ''
  const links = errors.map(({ status }) => `<a href="#error-${html(status)}">${html(status)}</a>`)
  const own = errors.filter(({ status, description }) => common.get(status) !== description)
  const items = own.map((answer) => `<li>${renderStatus(answer)}</li>`)
  return `<h4>Errors</h4><p class="errors">${links.join(' ')}</p>${items.length > 0 ? `<ul class="answers">${items.join('')}</ul>` : ''}`
}

export function renderStatus({ status, description }: Pick<Answer, 'status' | 'description'>): string {
  return `<code class="status s${status[0]}">${html(status)}</code> <span>${prose(description)}</span>`
}

function renderContent(content: Content | undefined, schemas: Reference['schemas']): string {
  if (!content) return ''
  const type = content.type === 'application/json' ? '' : ` <span class="mark">${html(content.type)}</span>`
  const { schema } = withoutNull(content.schema)
  const inner = schema.items ?? schema
  const name = nameOf(inner)
  const named = name !== undefined && hasFields(schemas.get(name)) ? renderReference(name) : ''
  const own =
    name === undefined && hasFields(inner)
      ? `<details><summary>Fields</summary>${renderFields(inner, schemas, 'response')}</details>`
      : ''
  return ` <span class="type">${typeOf(content.schema)}</span>${type}${named}${own}`
}

function renderHeaders({ headers }: Answer): string {
  if (headers.length === 0) return ''
  const items = headers.map(
    ({ name, description }) => `<li><code>${html(name)}</code> <span>${prose(description)}</span></li>`,
  )
  return `<details><summary>Headers</summary><ul class="fields">${items.join('')}</ul></details>`
}

/** Code with a title, which scripts give a button that copies it. */
export function renderCode(language: string, code: string): string {
  return `<figure class="code" data-language="${language}"><figcaption>${language}</figcaption><pre><code>${highlight(code)}</code></pre></figure>`
}

/** Longer ones are unfolded on demand. */
const SHORT_LINES = 24

function renderExample({ status, content }: Answer): string {
  if (content?.example === undefined) return ''
  const { text, isShortened } = exampleText(content.example)
  const open = text.split('\n').length <= SHORT_LINES ? ' open' : ''
  const title = `Response <code class="status s${status[0]}">${html(status)}</code>${isShortened ? ', shortened' : ''}`
  return `<details class="example"${open}><summary>${title}</summary><pre><code>${highlight(text)}</code></pre></details>`
}

/** A path that may wrap after its slashes. */
function breakable(path: string): string {
  return html(path).replaceAll('/', '/<wbr>')
}

/** More than a reader looks through. */
const MAX_LINES = 60
const DEPTH = 2

/**
 * An example as text. A long one is shortened to its outline: of every list the first item, and of what is deep inside
 * only that it is there. Pure.
 */
export function exampleText(value: unknown): { text: string; isShortened: boolean } {
  if (typeof value === 'string') return { text: value, isShortened: false }
  const text = JSON.stringify(value, null, 2)
  if (text.split('\n').length <= MAX_LINES) return { text, isShortened: false }
  return { text: outline(value, 0), isShortened: true }
}

/** The list itself does not count: its items are what is shown. */
function outline(value: unknown, depth: number, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    const more = value.length > 1 ? `,\n${inner}…` : ''
    return `[\n${inner}${outline(value[0], depth, inner)}${more}\n${indent}]`
  }
  const fields = Object.entries(value)
  if (fields.length === 0) return '{}'
  if (depth >= DEPTH) return '{ … }'
  const lines = fields.map(
    ([name, one]) => `${inner}${JSON.stringify(name)}: ${outline(one, depth + 1, inner)}`,
  )
  return `{\n${lines.join(',\n')}\n${indent}}`
}
