import { html, ICON } from '#ops/reference/html.ts'
import { type Group, urlOf } from './contents.ts'
import type { Heading } from './read-guide.ts'

export type Page = { path: string; title: string; headings: Heading[]; body: string }

/**
 * A page with the look of the API reference, whose style sheet and scripts it uses. It is complete without scripts. Its own
 * ids have capital letters, which anchors of headings never have. Pure.
 */
export function renderPage({ path, title, headings, body }: Page, groups: Group[], version: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${html(title)} · Gantry ${html(version)}</title>
<link rel="icon" href="${html(ICON)}">
<link rel="stylesheet" href="/docs/style.css">
<link rel="stylesheet" href="/docs/guides.css">
<script src="/docs/theme.js"></script>
<script type="module" src="/docs/guides.js"></script>
</head>
<body class="guides">
<a class="skip" href="#pageContent">Skip to content</a>
<header>
<a class="brand" href="/docs/guides">Gantry <small>${html(version)} guides</small></a>
<div class="search"></div>
<a href="/docs">API</a>
<a href="/app">Dashboard</a>
</header>
<nav id="guideList" aria-label="Guides">
${groups.map((group) => renderGroup(group, path)).join('\n')}
</nav>
<main id="pageContent" tabindex="-1">
<article>
${body}<p class="version">Gantry ${html(version)}</p>
</article>
${renderOutline(headings)}
</main>
</body>
</html>
`
}

function renderGroup({ title, pages }: Group, current: string): string {
  const items = pages.map(({ path, label }) => {
    const here = path === current ? ' aria-current="page"' : ''
    return `<li><a href="${urlOf(path)}"${here}>${html(label)}</a></li>`
  })
  return `<h2>${html(title)}</h2><ul>${items.join('')}</ul>`
}

/** What is on the page; not worth its space for a single heading. */
function renderOutline(headings: Heading[]): string {
  const items = headings
    .filter(({ depth }) => depth === 2 || depth === 3)
    .map(({ id, depth, text }) => `<li class="d${depth}"><a href="#${html(id)}">${html(text)}</a></li>`)
  if (items.length < 2) return ''
  return `<div class="outline" role="navigation" aria-labelledby="onThisPage"><h2 id="onThisPage">On this page</h2><ul>${items.join('')}</ul></div>`
}

export function renderMissing(groups: Group[], version: string): string {
  const body = `<h1>This guide does not exist</h1>
<p>Gantry ${html(version)} has no guide at this address. The URL may be wrong, or the guide belongs to another version.</p>
<p><a href="/docs/guides">All guides</a> · <a href="/docs">API reference</a> · <a href="/app">Dashboard</a></p>
`
  return renderPage({ path: '', title: 'Not found', headings: [], body }, groups, version)
}
