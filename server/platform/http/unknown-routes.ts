import type { FastifyInstance } from 'fastify'
import { ApiError, notFound } from './errors.ts'
import { nearestRoute } from './nearest-route.ts'
import { pathAndQuery } from './requests.ts'

export type RecordedRoute = { url: string; pattern: RegExp; methods: string[] }

/** The routes of `app` and below; the list grows as they are registered. */
export function recordRoutes(app: FastifyInstance): RecordedRoute[] {
  const routes: RecordedRoute[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ url, pattern: patternOf(url), methods: [method].flat() })
  })
  return routes
}

/**
 * 404 for URLs that do not exist, 405 with `Allow` for those that exist with other methods: sent before the body is
 * read, so that its errors do not come first. `routes` are those of the whole program.
 */
export function rejectUnknownRoutes(app: FastifyInstance, routes: readonly RecordedRoute[]): void {
  // Makes the hooks of `app` apply to them; none gets as far as this handler.
  app.setNotFoundHandler(() => {
    throw notFound()
  })
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return
    const path = pathAndQuery(request.url).split('?', 1)[0]!
    const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods)
    if (methods.length === 0) throw unknownRoute(path, routes)
    const allow = [...new Set(methods)].sort().join(', ')
    throw new ApiError('method_not_allowed', `This URL supports only ${allow}.`, { headers: { allow } })
  })
}

function unknownRoute(path: string, routes: readonly { url: string }[]): ApiError {
  const near = nearestRoute(
    path,
    routes.map(({ url }) => url),
  )
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  return new ApiError('unknown_route', `No route has this path.${hint} All of them are listed at /docs.`)
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : RegExp.escape(part)
  })
  return new RegExp(`^${parts.join('/')}$`)
}
