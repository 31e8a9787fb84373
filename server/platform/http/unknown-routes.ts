import type { FastifyInstance } from 'fastify'
import { ApiError, notFound } from './errors.ts'
import { pathAndQuery } from './requests.ts'

/**
 * 404 for URLs that do not exist, 405 with `Allow` for those that exist with other methods: sent before the body is
 * read, so that its errors do not come first.
 */
export function rejectUnknownRoutes(app: FastifyInstance): void {
  const routes: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ pattern: patternOf(url), methods: [method].flat() })
  })
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return
    const path = pathAndQuery(request.url).split('?', 1)[0]!
    const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods)
    if (methods.length === 0) throw notFound()
    const allow = [...new Set(methods)].sort().join(', ')
    throw new ApiError('method_not_allowed', `This URL supports only ${allow}.`, { headers: { allow } })
  })
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : RegExp.escape(part)
  })
  return new RegExp(`^${parts.join('/')}$`)
}
