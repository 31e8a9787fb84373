import { closest } from '#client/nearest.ts'

/** Longer than the path of any route: nobody meant one. */
const MAX_PATH_LENGTH = 512

/** What paths of other APIs begin with. */
const PREFIX = /^\/(?:api(?:\/|$))?(?:v\d+(?:\/|$))?/

/**
 * The route that a path without one was probably meant for, as the OpenAPI document writes it: `/actions/{action_id}`.
 * Names only what is public, never a part of the path itself, which may hold a token. Pure.
 */
export function nearestRoute(path: string, routes: readonly string[]): string | undefined {
  if (path.length > MAX_PATH_LENGTH) return undefined
  const given = path.toLowerCase().replace(PREFIX, '/').replace(/\/+$/, '').split('/').slice(1)
  const found = routes
    .map((route) => ({ route, parts: route.split('/').slice(1) }))
    .filter(({ parts }) => parts.length === given.length && given.every((part, at) => fits(part, parts[at]!)))
    .sort((one, two) => literals(two.parts) - literals(one.parts))[0]
  return found?.route.replaceAll(/:(\w+)/g, '{$1}')
}

function fits(given: string, part: string): boolean {
  if (part.startsWith(':')) return given !== ''
  return given === part || closest(given, [part]) !== undefined
}

function literals(parts: readonly string[]): number {
  return parts.filter((part) => !part.startsWith(':')).length
}
