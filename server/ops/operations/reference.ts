// The API reference: the OpenAPI document as one page without scripts or external resources.

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
  default?: unknown
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }
type Content = { content?: Record<string, { schema?: Schema }>; description?: string }
type Operation = {
  tags?: string[]
  operationId?: string
  summary?: string
  description?: string
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: Content
  responses?: Record<string, Content>
}
type OpenApi = {
  info: { title: string; version: string; summary?: string; description?: string }
  tags?: { name: string; description?: string }[]
  paths?: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, Schema> }
}

export function referencePage(source: unknown): string {
  const document = source as OpenApi
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tags = document.tags ?? []
  const ofTag = (tag: string) => operations.filter(({ operation }) => operation.tags?.includes(tag))
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${html(document.info.title)} ${html(document.info.version)} – API reference</title>
  <link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<nav aria-label="Contents">
  <p class="brand">${html(document.info.title)} <small>${html(document.info.version)}</small></p>
  ${tags
    .map(
      (tag) =>
        `<h2>${html(tag.name)}</h2><ul>${ofTag(tag.name)
          .map(
            ({ operation }) =>
              `<li><a href="#${operation.operationId}">${html(operation.summary ?? '')}</a></li>`,
          )
          .join('')}</ul>`,
    )
    .join('\n')}
  <h2><a href="#schemas">Schemas</a></h2>
</nav>
<main>
  <h1>${html(document.info.title)}</h1>
  <p>${prose(document.info.summary)}</p>
  <p>${prose(document.info.description)} Machine-readable: <a href="/openapi.json">/openapi.json</a>.</p>
  ${tags
    .map(
      (tag) => `<section><h2>${html(tag.name)}</h2><p>${prose(tag.description)}</p>
        ${ofTag(tag.name).map(renderOperation).join('\n')}</section>`,
    )
    .join('\n')}
  <section id="schemas"><h2>Schemas</h2>
  ${Object.entries(document.components?.schemas ?? {})
    .map(
      ([name, schema]) =>
        `<article id="schema-${html(name)}"><h3>${html(name)}</h3>${renderFields(schema)}</article>`,
    )
    .join('\n')}
  </section>
</main>
</body>
</html>`
}

function renderOperation({
  path,
  method,
  operation,
}: {
  path: string
  method: string
  operation: Operation
}): string {
  const body = operation.requestBody?.content?.['application/json']?.schema
  const open = operation.security?.length === 0 ? '<span class="open">no token required</span>' : ''
  return `<article id="${operation.operationId}">
    <h3>${html(operation.summary ?? '')} ${open}</h3>
    <p class="address"><b class="${method}">${method.toUpperCase()}</b> <code>${html(path)}</code></p>
    <p>${prose(operation.description)}</p>
    ${operation.parameters?.length ? `<h4>Parameters</h4>${renderParameters(operation.parameters)}` : ''}
    ${body ? `<h4>Body</h4>${renderFields(body)}` : ''}
    <h4>Responses</h4><table>${Object.entries(operation.responses ?? {})
      .map(([status, response]) => {
        const schema = Object.values(response.content ?? {})[0]?.schema
        return `<tr><td><code>${status}</code></td><td>${schema ? typeOf(schema) : ''}</td><td>${prose(response.description)}</td></tr>`
      })
      .join('')}</table>
  </article>`
}

function renderParameters(parameters: Parameter[]): string {
  const rows = parameters.map(
    ({ name, in: location, required, description, schema }) =>
      `<tr><td><code>${html(name)}</code>${required ? ' <em>required</em>' : ''}</td><td>${location}</td><td>${typeOf(schema ?? {})}</td><td>${prose(description ?? schema?.description)}</td></tr>`,
  )
  return `<table>${rows.join('')}</table>`
}

function renderFields(schema: Schema): string {
  if (!schema.properties) return `<p>${typeOf(schema)}</p>`
  const rows = Object.entries(schema.properties).map(([name, field]) => {
    const required = schema.required?.includes(name) ? ' <em>required</em>' : ''
    const inner = field.properties
      ? renderFields(field)
      : field.items?.properties
        ? renderFields(field.items)
        : ''
    return `<tr><td><code>${html(name)}</code>${required}</td><td>${typeOf(field)}</td><td>${prose(field.description)}${inner}</td></tr>`
  })
  return `<table>${rows.join('')}</table>`
}

function typeOf(schema: Schema): string {
  if (schema.$ref) {
    const name = html(schema.$ref.split('/').at(-1) ?? '')
    return `<a href="#schema-${name}">${name}</a>`
  }
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.enum) return schema.enum.map((one) => `<code>${html(String(one))}</code>`).join(' ')
  if (schema.items) return `list of ${typeOf(schema.items)}`
  const type = [schema.type ?? 'any value'].flat().join(' or ')
  const low = schema.minimum ?? schema.minLength
  const high = schema.maximum ?? schema.maxLength
  const range = low !== undefined || high !== undefined ? `, ${low ?? ''}–${high ?? ''}` : ''
  const fallback =
    schema.default === undefined ? '' : `, default <code>${html(JSON.stringify(schema.default))}</code>`
  return `${html(type)}${schema.format ? ` (${html(schema.format)})` : ''}${range}${fallback}`
}

/** Text with `code` in it. */
function prose(text: string | undefined): string {
  return html(text ?? '').replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

function html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

export const referenceStyle = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #0b62c4; }
@media (prefers-color-scheme: dark) { :root { --link: #7db8ff; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 18rem 1fr; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem 1.25rem; border-right: 1px solid var(--line); font-size: .875rem; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; margin: 1.25rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
.brand { font-size: 1.25rem; font-weight: 700; margin: 0; }
main { padding: 1rem 2rem 4rem; max-width: 70rem; min-width: 0; }
article { border-top: 1px solid var(--line); padding: .5rem 0 1.5rem; scroll-margin-top: 1rem; }
h4 { margin: 1rem 0 .25rem; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
code { font: .875em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td { border-top: 1px solid var(--line); padding: .35rem .5rem; vertical-align: top; }
td:first-child { min-width: 9rem; }
em { font-size: .8em; opacity: .75; }
.address b { display: inline-block; min-width: 4.5rem; }
.open { font-size: .75rem; font-weight: 400; border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .6rem; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } table { display: block; overflow-x: auto; } }
`
