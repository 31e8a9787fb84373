// Every API request of the pages goes through here: the client, authenticated by the session cookie.
import {
  createGantry,
  GantryError,
  type GetInit,
  type GetPath,
  type InitParam,
  type Item,
  UnreachableError,
} from '#client/index.ts'

export type ApiListener = {
  onUnreachable(): void
  onSessionEnded(): void
  /** A permission was missing: it may have been taken away since the page was loaded. */
  onForbidden(): void
  /** A list has more items than `all` loads. */
  onTruncated(list: { url: string; shown: number; total: string }): void
}

const PER_PAGE = 100
/** Bounds `all`: a list this long needs a filter, not more requests. */
const MAX_PAGES = 20

export type Api = ReturnType<typeof createApi>

/** `url` is where the pages come from. */
export function createApi(url: string, listener: ApiListener) {
  const observe = createObserver(listener)
  const gantry = createGantry({
    url,
    // A changing request without it is taken for one that another site made the browser send.
    headers: { 'x-gantry-request': '1' },
    // TanStack Query repeats reads, for as long as an outage lasts.
    retries: 0,
    fetch: observe,
  })
  return {
    ...gantry,
    /** Every item of a list, page after page. */
    async all<Path extends GetPath, Init extends GetInit<Path>>(
      path: Path,
      ...[init]: InitParam<Init>
    ): Promise<Item<Path>[]> {
      const { params, ...more } = (init ?? {}) as { params?: { path?: Record<string, string | number> } }
      const items: Item<Path>[] = []
      for (let number = 1; ; number++) {
        const query = { per_page: PER_PAGE, page: number }
        const given = { ...more, params: { ...params, query } } as unknown as GetInit<Path>
        const page = await gantry.page(path, ...([given] as InitParam<GetInit<Path>>))
        items.push(...page.items)
        if (!page.hasNext) return items
        if (number < MAX_PAGES) continue
        const list = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(params?.path?.[name]))
        listener.onTruncated({ url: list, shown: items.length, total: page.total })
        return items
      }
    },
  }
}

/** It was removed meanwhile, or the person may no longer see it. */
export function isNotFound(error: unknown): boolean {
  return error instanceof GantryError && error.status === 404
}

/** Sends requests, and tells the listener what their responses say about the service and the session. */
function createObserver(listener: ApiListener) {
  let signIns = 0
  return async (request: Request): Promise<Response> => {
    const signInsBefore = signIns
    const response = await fetch(request).catch((error: unknown) => {
      if (request.signal.aborted) throw error
      listener.onUnreachable()
      throw new UnreachableError('Gantry is unreachable.')
    })
    if ([502, 503, 504].includes(response.status)) {
      listener.onUnreachable()
      const { message } = (await response.json().catch(() => ({}))) as { message?: string }
      throw new UnreachableError(message ?? `The service responded with status ${response.status}.`)
    }
    // Signing in is the one request whose 401 says nothing about a session.
    const isSignIn = request.method === 'POST' && new URL(request.url).pathname === '/session'
    if (isSignIn && response.ok) signIns++
    // What was sent before a sign-in says nothing about the new session.
    if (response.status === 401 && !isSignIn && signIns === signInsBefore) listener.onSessionEnded()
    if (response.status === 403) listener.onForbidden()
    return response
  }
}
