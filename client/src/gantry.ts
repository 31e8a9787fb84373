import createClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch'
import type { HttpMethod, MediaType, PathsWithMethod, RequiredKeysOf } from 'openapi-typescript-helpers'
import type { paths } from './api-types.ts'
import { GantryError, UnreachableError } from './errors.ts'
import { createFetch, type FetchOptions } from './fetch.ts'
import { type LogGap, markGaps } from './log-gaps.ts'
import { createStreams } from './streams.ts'
import { type WaitOptions, waitForAction } from './wait.ts'

export type GantryOptions = FetchOptions & {
  /** The address of the instance, for example `https://gantry.example.com`. */
  url: string
}

/** The data of a successful response. */
export type Data<Method extends HttpMethod, Path extends PathsWithMethod<paths, Method>, Init = unknown> =
  // biome-ignore lint/suspicious/noExplicitAny: the constraint of openapi-fetch's own type
  paths[Path][Method] extends Record<string | number, any>
    ? NonNullable<FetchResponse<paths[Path][Method], Init, MediaType>['data']>
    : never

/** What a call takes after its path: optional when the route requires nothing. */
export type InitParam<Init> = RequiredKeysOf<Init> extends never ? [Init?] : [Init]

/** A call returns the data of its response, and throws a `GantryError` or an `UnreachableError`. */
export type Call<Method extends HttpMethod> = <
  Path extends PathsWithMethod<paths, Method>,
  Init extends MaybeOptionalInit<paths[Path], Method>,
>(
  path: Path,
  ...init: InitParam<Init>
) => Promise<Data<Method, Path, Init>>

export type GetPath = PathsWithMethod<paths, 'get'>
export type GetInit<Path extends GetPath> = MaybeOptionalInit<paths[Path], 'get'>

/** One item of a list. */
export type Item<Path extends GetPath> = Data<'get', Path> extends (infer One)[] ? One : never

/** One page of a list. `total` is the service's count: `10000+` where it stopped counting. */
export type Page<One> = { items: One[]; total: string; hasNext: boolean }

/** Data and its `ETag`; null where the route has none. */
export type Versioned<Value> = { data: Value; etag: string | null }

type StepLogOptions = { after?: number | undefined; signal?: AbortSignal | undefined }

export type Gantry = ReturnType<typeof createGantry>

export function createGantry({ url, ...options }: GantryOptions) {
  const client = createClient<paths>({ baseUrl: url.replace(/\/+$/, ''), fetch: createFetch(options) })
  const fetchOnce = createFetch({ ...options, retries: 0 })

  // biome-ignore lint/suspicious/noExplicitAny: typed by `Call`, as the caller sees it
  async function send(method: HttpMethod, path: any, init: any): Promise<{ data: any; response: Response }> {
    const { error, response } = await client.request(
      method,
      path as never,
      { ...init, parseAs: 'stream' } as never,
    )
    if (!response.ok)
      throw new GantryError(response, typeof error === 'object' && error !== null ? error : {}, {
        path,
        params: init?.params?.path ?? {},
      })
    if (isForeign(response)) throw new GantryError(response, { message: `Not a Gantry server: ${url}` })
    return { data: await readBody(response, init?.parseAs), response }
  }

  const call =
    <Method extends HttpMethod>(method: Method): Call<Method> =>
    async (path, ...[init]) =>
      (await send(method, path, init)).data

  const get = call('get')

  async function getVersioned<Path extends GetPath, Init extends GetInit<Path>>(
    path: Path,
    ...[init]: InitParam<Init>
  ): Promise<Versioned<Data<'get', Path, Init>>> {
    const { data, response } = await send('get', path, init)
    return { data, etag: response.headers.get('etag') }
  }

  async function page<Path extends GetPath, Init extends GetInit<Path>>(
    path: Path,
    ...[init]: InitParam<Init>
  ): Promise<Page<Item<Path>>> {
    const { data, response } = await send('get', path, init)
    return {
      items: data,
      total: response.headers.get('x-total-count') ?? '',
      hasNext: /rel="next"/.test(response.headers.get('link') ?? ''),
    }
  }

  const streams = createStreams(async (path, { isRepeated, ...init }) => {
    const once = isRepeated ? {} : { fetch: fetchOnce }
    const { response } = await send('get', path, { ...init, ...once, parseAs: 'stream' })
    return response
  })

  return {
    get,
    post: call('post'),
    put: call('put'),
    patch: call('patch'),
    delete: call('delete'),

    /** With its version: send it as `If-Match`, and the change is rejected (412) if somebody else was faster. */
    getVersioned,

    page,

    /** All items of a list, page after page as they are consumed. */
    async *list<Path extends GetPath, Init extends GetInit<Path>>(
      path: Path,
      ...[init]: InitParam<Init>
    ): AsyncGenerator<Item<Path>, void, undefined> {
      const { params, ...more } = (init ?? {}) as { params?: { path?: object; query?: object } }
      for (let number = 1; ; number += 1) {
        const query = { per_page: 100, ...params?.query, page: number }
        const given = { ...more, params: { ...params, query } } as unknown as GetInit<Path>
        const { items, hasNext } = await page(path, ...([given] as InitParam<GetInit<Path>>))
        yield* items
        if (!hasNext) return
      }
    },

    ...streams,

    /** The action once it has ended, whichever way: look at its `status`. */
    wait(actionId: number, waitOptions: WaitOptions = {}) {
      const read = (action_id: number, signal: AbortSignal) =>
        get('/actions/{action_id}', { params: { path: { action_id } }, signal })
      return waitForAction({ read, followActions: streams.followActions }, actionId, waitOptions)
    },

    /**
     * The output of a step so far. Pass `offset` as `after` to read on. Where output is omitted, because a long log has
     * only its beginning and its end, the text has a line that says so; `gaps` has the numbers.
     */
    async readLog(
      { actionId, targetId, order }: { actionId: number; targetId: number; order: number },
      { after = 0, signal }: StepLogOptions = {},
    ): Promise<{ text: string; offset: number; isComplete: boolean; gaps: LogGap[] }> {
      const path = { action_id: actionId, target_id: targetId, order }
      const init = { params: { path, query: { after } }, signal }
      const route = '/actions/{action_id}/targets/{target_id}/steps/{order}/logs'
      const { data, response } = await send('get', route, init)
      const { step } = data as Data<'get', typeof route>
      const offset = Number(response.headers.get('x-gantry-log-offset'))
      const { output, gaps, completed_at } = step
      return { text: markGaps(output, gaps, after), offset, isComplete: completed_at !== null, gaps }
    },
  }
}

/** A page of something else at the address, or of a proxy in front of it: Gantry names every request. */
function isForeign({ headers, status }: Response): boolean {
  return status !== 204 && !headers.has('x-request-id') && !/\bjson\b/.test(headers.get('content-type') ?? '')
}

type ParseAs = 'json' | 'text' | 'blob' | 'arrayBuffer' | 'stream'

/** JSON is parsed, any other text is text, unless the caller asks for something else. */
async function readBody(response: Response, parseAs: ParseAs | undefined): Promise<unknown> {
  if (response.status === 204) return null
  if (parseAs === 'stream') return response.body
  try {
    if (parseAs === 'blob' || parseAs === 'arrayBuffer') return await response[parseAs]()
    const text = await response.text()
    const isJson = /^application\/(.+\+)?json\b/.test(response.headers.get('content-type') ?? '')
    if (text === '') return null
    return parseAs === 'text' || !isJson ? text : JSON.parse(text)
  } catch (cause) {
    if (cause instanceof DOMException) throw cause
    throw new UnreachableError('The response was cut off.', { cause })
  }
}
