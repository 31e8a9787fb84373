import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { notFound } from '#platform/http/errors.ts'
import { type BuiltPages, type PageFile, readBuiltPages } from './built-pages.ts'
import { chooseForm, hasForm } from './choose-form.ts'

/** Where scripts/build-web.mjs puts them. */
const BUILT = new URL('../../../web/dist/', import.meta.url)

/** Everything from here and nothing from elsewhere; no script and no style inside of a page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Gantry</title></head>
<body>
<h1>The dashboard is not built yet</h1>
<p>Start Gantry with <code>npm start</code>, which builds it. The API works without; see <a href="/docs">its reference</a>.</p>
</body>
</html>
`

/** The dashboard's files; tests have folders of their own. */
export const pageRoutes: FastifyPluginAsync<{ folder?: URL }> = async (app, { folder = BUILT }) => {
  let pages: BuiltPages | undefined = await readBuiltPages(folder)
  const config = { access: publicly, notJson: true }
  const schema = { hide: true }

  app.get('/app', { config, schema }, (request, reply) => sendPage(request, reply, ''))
  app.get<{ Params: { '*': string } }>('/app/*', { config, schema }, (request, reply) =>
    sendPage(request, reply, request.params['*']),
  )

  async function sendPage(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    // May have been built since.
    pages ??= await readBuiltPages(folder)
    if (!pages) {
      reply.code(503).header('retry-after', '5').header('cache-control', 'no-store')
      return reply.type('text/html; charset=utf-8').send(NOT_BUILT)
    }
    const file = fileFor(pages, path)
    if (!file) throw notFound()
    return sendFile(request, reply, file)
  }
}

/** Addresses without a dot at their end are views, which the page itself tells apart. */
function fileFor(pages: BuiltPages, path: string): PageFile | undefined {
  const isView = !path.split('/').at(-1)!.includes('.')
  return pages.get(isView ? 'index.html' : path)
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const form = chooseForm(file.forms, request.headers['accept-encoding'])
  reply
    .header('etag', form.etag)
    .header('vary', 'Accept-Encoding')
    .header('cache-control', file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  if (hasForm(form, request.headers['if-none-match'])) return reply.code(304).send()
  if (form.encoding !== null) reply.header('content-encoding', form.encoding)
  return reply.type(file.type).send(form.bytes)
}
