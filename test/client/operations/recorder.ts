// Clients that note which operations of the document were called, and what the service responded.
import { createGantry, type Gantry, type GantryOptions } from '#client/index.ts'

export type OpenApiDocument = {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
}
export type Recorder = ReturnType<typeof createRecorder>

/** What every part of the test gets. */
export type Drive = {
  /** Instance administrator and owner of the sample organization. */
  admin: Gantry
  /** Not signed in. */
  anyone: Gantry
  recorder: Recorder
}

export function createRecorder(url: string, document: OpenApiDocument) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
      parameters: path.split('{').length,
      responses: Object.keys(responses),
    })),
  )
  // `/actions/stream` is not `/actions/{id}`.
  operations.sort((one, other) => one.parameters - other.parameters)
  const called = new Map<string, number[]>()
  let cookie = ''

  async function record(request: Request): Promise<Response> {
    const response = await fetch(request)
    const { pathname } = new URL(request.url)
    const operation = operations.find(
      ({ method, pattern }) => method === request.method && pattern.test(pathname),
    )
    if (!operation) throw new Error(`the document does not have ${request.method} ${pathname}`)
    if (!operation.responses.includes(String(response.status)))
      throw new Error(`the document does not describe ${operation.name} ${response.status}`)
    called.set(operation.name, [...(called.get(operation.name) ?? []), response.status])
    const [set] = response.headers.getSetCookie()
    if (set) cookie = set.split(';')[0]!
    return response
  }

  return {
    operations: operations.map(({ name }) => name),
    called,
    client: (options: Partial<GantryOptions> = {}) => createGantry({ url, fetch: record, ...options }),
    /** The browser of somebody who has just signed in. */
    browser: () => createGantry({ url, fetch: record, headers: { cookie, 'x-gantry-request': '1' } }),
  }
}

export const at = <Path extends object>(path: Path) => ({ params: { path } })

/** The token in the fragment of a link. */
export const tokenIn = (link: string) => new URL(link).hash.slice(1)
