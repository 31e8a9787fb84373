import type { RouteAccess } from '#access/authorization/enforce.ts'
import { accessOf } from './access.ts'
import { type Reference, readDocument, requestSchemas } from './document.ts'
import { html, ICON, paragraphs, prose } from './html.ts'
import { renderIntroduction, SECTIONS } from './introduction.ts'
import { renderOperation } from './operation.ts'
import { renderFields } from './schema-tree.ts'

/**
 * The page: everything is in it and readable without scripts. `scripts` are modules under /docs; `theme.js` runs
 * before the first paint. Pure.
 */
export function referencePage(
  source: unknown,
  accessTable: readonly RouteAccess[],
  scripts: readonly string[] = [],
): string {
  const reference = readDocument(source)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${html(reference.title)} API reference</title>
<link rel="icon" href="${html(ICON)}">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/theme.js"></script>
${scripts.map((name) => `<link rel="modulepreload" href="/docs/${name}">`).join('')}
<script type="module" src="/docs/main.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="/docs">${html(reference.title)} <small>API</small></a>
<div class="search"></div>
<a href="/docs/guides">Guides</a>
<a href="/app">Dashboard</a>
</header>
${renderContents(reference)}
<main id="content" tabindex="-1">
${renderIntroduction(reference)}
${reference.tags
  .filter(({ operations }) => operations.length > 0)
  .map(
    ({ name, description, operations }) => `<section aria-labelledby="${tagId(name)}">
<div class="tag"><h2 id="${tagId(name)}">${html(name)}</h2>${paragraphs(description)}</div>
${operations.map((one) => renderOperation(one, reference, accessOf(accessTable, one))).join('\n')}
</section>`,
  )
  .join('\n')}
${renderSchemas(reference)}
</main>
</body>
</html>`
}

const SHORT: Record<string, string> = { DELETE: 'DEL' }

function renderContents({ tags, schemas, inlined }: Reference): string {
  const groups = tags
    .filter(({ operations }) => operations.length > 0)
    .map(({ name, operations }) => {
      const items = operations.map(
        ({ id, method, summary }) =>
          `<li><a href="#${html(id)}"><b class="method" data-verb="${method}">${SHORT[method] ?? method}</b> <span>${html(summary)}</span></a></li>`,
      )
      return renderGroup(name, items)
    })
  const schemaItems = [...schemas.keys()]
    .filter((name) => !inlined.has(name))
    .map((name) => `<li><a href="#schema-${html(name)}">${html(name)}</a></li>`)
  return `<nav id="contents" aria-label="Contents">
<ul class="start">${SECTIONS.map(({ id, title }) => `<li><a href="#${id}">${title}</a></li>`).join('')}</ul>
${groups.join('\n')}
${schemaItems.length > 0 ? renderGroup('Schemas', schemaItems) : ''}
</nav>`
}

function renderGroup(title: string, items: string[]): string {
  return `<details><summary>${html(title)}</summary><ul>${items.join('')}</ul></details>`
}

function renderSchemas(reference: Reference): string {
  const { schemas, inlined } = reference
  if (schemas.size === 0) return ''
  const sent = requestSchemas(reference)
  const articles = [...schemas]
    .filter(([name]) => !inlined.has(name))
    .map(
      ([name, schema]) => `<article id="schema-${html(name)}" class="schema">
<h3><a href="#schema-${html(name)}">${html(name)}</a></h3>
${schema.description ? `<p class="description">${prose(schema.description)}</p>` : ''}
${renderFields(schema, schemas, sent.has(name) ? 'request' : 'response')}
</article>`,
    )
  return `<section aria-labelledby="schemas"><div class="tag"><h2 id="schemas">Schemas</h2><p>The objects that calls take and return.</p></div>
${articles.join('\n')}
</section>`
}

/** `Hook requests` → `tag-hook-requests`. */
function tagId(name: string): string {
  return `tag-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
}
