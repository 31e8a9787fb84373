// Every API request of the pages goes through here, authenticated by the session cookie.
import type { Error as ErrorBody, Operations } from '../api-types.ts'

type Optional<Name extends string, Value> = Value extends undefined
  ? unknown
  : Partial<Value> extends Value
    ? { [Key in Name]?: Value }
    : { [Key in Name]: Value }
type Input<Route extends keyof Operations> = Optional<'path', Operations[Route]['path']> &
  Optional<'query', Operations[Route]['query']> &
  Optional<'body', Operations[Route]['body']> & { signal?: AbortSignal }

export type Answer<Route extends keyof Operations> = Operations[Route]['answer']
type Item<Route extends keyof Operations> = Answer<Route> extends Array<infer One> ? One : never

/** One page of a list. `total` is the server's count: `10000+` where it stopped counting. */
export type Page<One> = { items: One[]; total: string; hasNext: boolean }

/** The API responded with an error. */
export class ApiError extends Error {
  readonly status: number
  readonly fields: [string, string[]][]
  /** Seconds to wait, if the API named them. */
  readonly retryAfter: number | undefined
  constructor(status: number, body: Partial<ErrorBody>, retryAfter?: string | null) {
    super(body.message ?? `The service responded with status ${status}.`)
    this.status = status
    this.retryAfter = /^\d+$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined
    this.fields = Object.entries(body.errors ?? {})
  }
}

/** The API did not respond, or only to say that it is unavailable. */
export class UnreachableError extends Error {}

export type ApiListener = {
  onUnreachable(): void
  onSessionEnded(): void
  /** A list has more items than `all` loads. */
  onTruncated(list: { url: string; shown: number; total: string }): void
}

const PER_PAGE = 100
/** Bounds `all`: a list this long needs a filter, not more requests. */
const MAX_PAGES = 20

export type Api = ReturnType<typeof createApi>

type AnyInput = {
  path?: Record<string, string | number>
  query?: Record<string, string | number | boolean | undefined>
  body?: unknown
  signal?: AbortSignal
}

export function createApi(listener: ApiListener) {
  async function send(route: string, input: AnyInput): Promise<Response> {
    const [method, path] = route.split(' ') as [string, string]
    const response = await fetch(urlOf(path, input), {
      method,
      headers: {
        accept: 'application/json',
        ...(method !== 'GET' && { 'x-gantry-request': '1' }),
        ...(input.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: input.body === undefined ? undefined : JSON.stringify(input.body),
      signal: input.signal ?? null,
      credentials: 'same-origin',
    }).catch((error: unknown) => {
      if (input.signal?.aborted) throw error
      listener.onUnreachable()
      throw new UnreachableError('Gantry is unreachable.')
    })
    if (response.ok) return response
    const body = (await response.json().catch(() => ({}))) as Partial<ErrorBody>
    const error = new ApiError(response.status, body, response.headers.get('retry-after'))
    if ([502, 503, 504].includes(response.status)) {
      listener.onUnreachable()
      throw new UnreachableError(error.message)
    }
    // Signing in is the one request whose 401 says nothing about a session.
    if (response.status === 401 && route !== 'POST /session') listener.onSessionEnded()
    throw error
  }

  async function page<Route extends keyof Operations>(
    route: Route,
    input: Input<Route>,
  ): Promise<Page<Item<Route>>> {
    const response = await send(route, input as AnyInput)
    return {
      items: (await response.json()) as Item<Route>[],
      total: response.headers.get('x-total-count') ?? '',
      hasNext: /rel="next"/.test(response.headers.get('link') ?? ''),
    }
  }

  return {
    page,
    async request<Route extends keyof Operations>(route: Route, input: Input<Route>): Promise<Answer<Route>> {
      const response = await send(route, input as AnyInput)
      return response.status === 204 ? null : ((await response.json()) as Answer<Route>)
    },
    /** Every item of a list, page after page. */
    async all<Route extends keyof Operations>(route: Route, input: Input<Route>): Promise<Item<Route>[]> {
      const items: Item<Route>[] = []
      for (let number = 1; ; number++) {
        const query = { per_page: PER_PAGE, page: number }
        const { items: more, total, hasNext } = await page(route, { ...input, query } as Input<Route>)
        items.push(...more)
        if (!hasNext) return items
        if (number < MAX_PAGES) continue
        listener.onTruncated({
          url: urlOf(route.split(' ')[1]!, input as AnyInput),
          shown: items.length,
          total,
        })
        return items
      }
    },
  }
}

function urlOf(path: string, { path: params = {}, query = {} }: AnyInput): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? filled : `${filled}?${search}`
}
