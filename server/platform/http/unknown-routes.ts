import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError, notFound } from './errors.ts'
import { pathAndQuery } from './requests.ts'

/**
 * 404 for URLs that do not exist, 405 with `Allow` for those that exist with other methods: sent before the body is
 * read, so that its errors do not come first.
 */
export function rejectUnknownRoutes(app: FastifyInstance): void {
  const methodsByPattern = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methodsByPattern.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() }
    for (const one of [method].flat()) known.methods.add(one)
    methodsByPattern.set(url, known)
  })
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw errorFor(request)
  })

  function errorFor(request: FastifyRequest): ApiError {
    const path = pathAndQuery(request.url).split('?', 1)[0]!
    const methods = new Set<string>()
    for (const { pattern, methods: known } of methodsByPattern.values()) {
      if (pattern.test(path)) for (const method of known) methods.add(method)
    }
    if (methods.size === 0) return notFound()
    const allow = [...methods].sort().join(', ')
    return new ApiError('method_not_allowed', `This URL supports only ${allow}.`, {
      headers: { allow },
    })
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : RegExp.escape(part)
  })
  return new RegExp(`^${parts.join('/')}$`)
}
