import type { Reference } from './document.ts'
import { html, paragraphs } from './html.ts'
import { renderCode, renderStatus } from './operation.ts'

// What somebody needs to know before the first call. Sections of their own: they are linked, and the page without
// scripts has them too.

export const SECTIONS = [
  { id: 'introduction', title: 'Introduction' },
  { id: 'authentication', title: 'Authentication' },
  { id: 'conventions', title: 'Conventions' },
  { id: 'errors', title: 'Errors' },
] as const

export function renderIntroduction(reference: Reference): string {
  const { title, version, summary, description, url, tags, schemas, errors } = reference
  const operations = tags.flatMap((tag) => tag.operations)
  const link = (method: string, path: string) => {
    const found = operations.find((one) => one.method === method && one.path === path)
    const code = `<code>${method} ${html(path)}</code>`
    return found ? `<a href="#${html(found.id)}">${code}</a>` : code
  }
  const error = schemas.has('Error') ? '<a href="#schema-Error">Error</a>' : 'Error'
  return `<section id="introduction" class="topic"><div class="explanation">
<h1>${html(title)} API <small>${html(version)}</small></h1>
<p class="lead">${html(summary)}</p>
${paragraphs(description)}
<p>This page is generated from the <a href="/openapi.json">OpenAPI document</a> of this instance.</p>
</div></section>
<section id="authentication" class="topic">
<div class="explanation">
<h2>Authentication</h2>
<p>Send a token with every request, in the header <code>Authorization: Bearer &lt;token&gt;</code>. Calls marked public need none.</p>
<ul class="points">
<li><b>Personal access tokens</b> are for scripts, CI and everything that runs without you. Create one under
<a href="/app/account">Account</a> or with ${link('POST', '/users/personal-access-tokens')}. Limit it to the scopes
<code>read</code>, <code>run</code>, <code>hooks</code> and <code>manage</code>, to organizations or to projects; each call below names the scope that it needs.</li>
<li><b>Access tokens</b> come from ${link('POST', '/users/login')} and expire after hours. Renew them with
${link('POST', '/users/refresh-token')}.</li>
<li><b>Hook calls</b> carry no token: the URL of the hook is a secret, and most hooks require a signature.</li>
</ul>
<p>A token never does more than its user. Without permission to see an object you get 404; if you can view it but lack the permission for this, 403.</p>
</div>
<div class="samples">
${renderCode('curl', `export GANTRY_TOKEN=gty_pat_…\ncurl ${url}/users/me \\\n  -H "Authorization: Bearer $GANTRY_TOKEN"`)}
${renderCode('TypeScript', `import { createGantry } from '@gantry/client'\n\nconst gantry = createGantry({ url: '${url}', token: process.env.GANTRY_TOKEN })\nconst user = await gantry.get('/users/me')`)}
<div id="token"></div>
</div>
</section>
<section id="conventions" class="topic">
<div class="explanation">
<h2>Conventions</h2>
<ul class="points">
<li><b>JSON</b> in and out, UTF-8. A field without a value is <code>null</code>, never left out. Unknown fields in a body are rejected. Timestamps are ISO 8601 in UTC.</li>
<li><b>Lists</b> are arrays, newest first unless noted otherwise. <code>page</code> and <code>per_page</code> (1–100, default 25) select a page;
the headers <code>Link</code> and <code>X-Total-Count</code> name the other pages and the total.</li>
<li><b>Changes</b> with <code>PUT</code> replace the fields that you send and keep the others. Send the <code>ETag</code> of your last read as <code>If-Match</code>
to get 412 instead of overwriting another person’s change.</li>
<li><b>429 and 503</b> say in <code>Retry-After</code> when to try again; nothing was accepted.</li>
</ul>
</div>
</section>
<section id="errors" class="topic">
<div class="explanation">
<h2>Errors</h2>
<p>All errors have one shape, ${error}: <code>message</code> for people, <code>code</code> for programs, <code>errors</code> by field, and
<code>request_id</code>, which every response also carries as <code>X-Request-Id</code>.</p>
<ul class="answers">${[...errors].map(([status, text]) => `<li id="error-${html(status)}">${renderStatus({ status, description: text })}</li>`).join('')}</ul>
</div>
</section>`
}
