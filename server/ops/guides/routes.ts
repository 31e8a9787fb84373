// The guides room: /docs/guides, the guides of this version. scripts/build-guides.mjs renders them from docs/.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { sendFile } from '#platform/http/static-files.ts'
import { type BuiltPages, readBuiltPages } from '#views/dashboard/built-pages.ts'
import { CONTENT_SECURITY_POLICY } from '#views/dashboard/page-routes.ts'

/** Where scripts/build-guides.mjs puts them. */
const BUILT_GUIDES = new URL('../../../docs/dist/', import.meta.url)
const INDEX = 'index.html'
/** What is shown instead of a guide that does not exist. */
const MISSING = '404.html'
const HTML = 'text/html; charset=utf-8'

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Guides not built · Gantry</title><link rel="icon" href="/favicon.ico"></head>
<body>
<h1>The guides are not built yet</h1>
<p>Start Gantry with <code>npm start</code>, which builds them. See also the <a href="/docs">API reference</a>.</p>
</body>
</html>
`

/** Serves them to everyone; tests pass another folder. */
export const guideRoutes: FastifyPluginAsync<{ folder?: URL }> = async (app, { folder = BUILT_GUIDES }) => {
  const config = { access: publicly, notJson: true }
  const schema = { hide: true }
  let guides: Promise<BuiltPages | undefined> | undefined

  /** Read when first asked for: most processes never are. */
  async function readGuides(): Promise<BuiltPages | undefined> {
    guides ??= readBuiltPages(folder)
    const found = await guides
    // They may be built later.
    if (!found) guides = undefined
    return found
  }

  app.get('/docs/guides', { config, schema }, (request, reply) => send(request, reply, INDEX))
  app.get<{ Params: { '*': string } }>('/docs/guides/*', { config, schema }, (request, reply) =>
    request.params['*'] === ''
      ? reply.redirect('/docs/guides')
      : send(request, reply, fileNameOf(request.params['*'])),
  )

  async function send(request: FastifyRequest, reply: FastifyReply, name: string | undefined) {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    const built = await readGuides()
    if (!built) {
      reply.code(503).header('retry-after', '5').header('cache-control', 'no-store')
      return reply.type(HTML).send(NOT_BUILT)
    }
    const file = name === undefined ? undefined : built.get(name)
    if (file) return sendFile(request, reply, file)
    const missing = built.get(MISSING)!.encodings.find(({ encoding }) => encoding === null)!
    return reply.code(404).header('cache-control', 'no-cache').type(HTML).send(missing.bytes)
  }
}

/** URLs of guides have no ending; those of images and of the search index do. */
function fileNameOf(path: string): string | undefined {
  if (path.includes('.')) return path.endsWith('.html') ? undefined : path
  const name = `${path}.html`
  return name === INDEX || name === MISSING ? undefined : name
}
