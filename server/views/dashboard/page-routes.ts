import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { notFound } from '#platform/http/errors.ts'
import { type StaticFile, sendFile, toFile } from '#platform/http/static-files.ts'
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

/** A gantry crane with its load. Browsers look for it here by themselves, also when they show a response of the API. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b63b0"/><path d="M5 9.5h22M9 9.5v14.5M23 9.5v14.5M16 9.5v4.5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/><rect x="12" y="14" width="8" height="7" rx="1.5" fill="#fff"/></svg>`

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Dashboard not built · Gantry</title><link rel="icon" href="/favicon.ico"></head>
<body>
<h1>The dashboard is not built yet</h1>
<p>Start Gantry with <code>npm start</code>, which builds it. The API works without it; see the <a href="/docs">API reference</a>.</p>
</body>
</html>
`

/** Several apps of a process share them: they are megabytes. */
let ownPages: BuiltPages | undefined

async function readPages(folder: URL): Promise<BuiltPages | undefined> {
  if (folder !== BUILT_PAGES) return readBuiltPages(folder)
  ownPages ??= await readBuiltPages(folder)
  return ownPages
}

/** Serves the files of the dashboard; tests pass another folder. */
export const pageRoutes: FastifyPluginAsync<{ folder?: URL }> = async (app, { folder = BUILT_PAGES }) => {
  let pages = await readPages(folder)
  const config = { access: publicly, notJson: true }
  const schema = { hide: true }

  const logo = await toFile(Buffer.from(LOGO), 'image/svg+xml')
  app.get('/favicon.ico', { config, schema }, (request, reply) => sendFile(request, reply, logo))
  app.get('/app', { config, schema }, (request, reply) => sendPage(request, reply, ''))
  app.get<{ Params: { '*': string } }>('/app/*', { config, schema }, (request, reply) =>
    sendPage(request, reply, request.params['*']),
  )

  async function sendPage(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    // It may have been built since.
    pages ??= await readPages(folder)
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
