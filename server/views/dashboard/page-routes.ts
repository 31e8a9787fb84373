import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { notFound } from '#platform/http/errors.ts'
import { type StaticFile, sendFile } from '#platform/http/static-files.ts'
import { BUILT_PAGES, type BuiltPages, readBuiltPages } from './built-pages.ts'

/** Everything from this origin; no inline scripts and no inline styles. */
export const CONTENT_SECURITY_POLICY = [
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
<p>Start Gantry with <code>npm start</code>, which builds it. The API works without it; see the <a href="/docs">API reference</a>.</p>
</body>
</html>
`

/** Serves the files of the dashboard; tests pass another folder. */
export const pageRoutes: FastifyPluginAsync<{ folder?: URL }> = async (app, { folder = BUILT_PAGES }) => {
  let pages: BuiltPages | undefined = await readBuiltPages(folder)
  const config = { access: publicly, notJson: true }
  const schema = { hide: true }

  app.get('/app', { config, schema }, (request, reply) => sendPage(request, reply, ''))
  app.get<{ Params: { '*': string } }>('/app/*', { config, schema }, (request, reply) =>
    sendPage(request, reply, request.params['*']),
  )

  async function sendPage(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    // It may have been built since.
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

/** Paths without a file extension are views, which the page itself routes. */
function fileFor(pages: BuiltPages, path: string): StaticFile | undefined {
  const isView = !path.split('/').at(-1)!.includes('.')
  return pages.get(isView ? 'index.html' : path)
}
