import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { publicly } from '#access/authorization/enforce.ts'
import { notFound } from '#platform/http/errors.ts'
import { type StaticFile, sendFile, toFile } from '#platform/http/static-files.ts'
import { CONTENT_SECURITY_POLICY } from '#views/dashboard/page-routes.ts'
import { referencePage } from './page.ts'

/** The page and its files. They are the same for everybody, and change only with the version. */
export const referenceRoutes: FastifyPluginAsync = async (app) => {
  const files = await readStaticFiles()
  const modules = [...files.keys()].filter((name) => name.endsWith('.js') && !NOT_MODULES.test(name))
  const config = { access: publicly, notJson: true }
  const schema = { hide: true }
  let page: Promise<StaticFile> | undefined

  app.get('/docs', { config, schema }, async (request, reply) => {
    page ??= toFile(
      Buffer.from(referencePage(app.swagger(), app.accessTable, modules)),
      'text/html; charset=utf-8',
    )
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    return sendFile(request, reply, await page)
  })

  app.get<{ Params: { file: string } }>('/docs/:file', { config, schema }, async (request, reply) => {
    if (request.params.file === '') return reply.redirect('/docs')
    const file = files.get(request.params.file)
    if (!file) throw notFound()
    return sendFile(request, reply, file)
  })
}

/** `theme.js` is no module; those of the guides are for other pages. */
const NOT_MODULES = /^(theme|guide)/

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

/** The style sheet and the scripts of the page, by name. They are sent as they are: there is nothing to build. */
async function readStaticFiles(): Promise<ReadonlyMap<string, StaticFile>> {
  const folder = new URL('./browser/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => extname(name) in TYPES)
  const files = names.map(async (name) => {
    const bytes = await readFile(new URL(name, folder))
    return [name, await toFile(bytes, TYPES[extname(name)]!)] as const
  })
  return new Map(await Promise.all(files))
}
