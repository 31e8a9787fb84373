import createClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch'
import type { HttpMethod, MediaType, PathsWithMethod, RequiredKeysOf } from 'openapi-typescript-helpers'
import type { paths } from './api-types.ts'
import { GantryError } from './errors.ts'
import { createFetch, type FetchOptions } from './fetch.ts'

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
type InitParam<Init> = RequiredKeysOf<Init> extends never ? [Init?] : [Init]

/** A call returns the data of its response, and throws a `GantryError` or an `UnreachableError`. */
export type Call<Method extends HttpMethod> = <
  Path extends PathsWithMethod<paths, Method>,
  Init extends MaybeOptionalInit<paths[Path], Method>,
>(
  path: Path,
  ...init: InitParam<Init>
) => Promise<Data<Method, Path, Init>>

type Item<Path extends PathsWithMethod<paths, 'get'>> = Data<'get', Path> extends (infer One)[] ? One : never

export type Gantry = ReturnType<typeof createGantry>

export function createGantry({ url, ...options }: GantryOptions) {
  const client = createClient<paths>({ baseUrl: url.replace(/\/+$/, ''), fetch: createFetch(options) })

  // biome-ignore lint/suspicious/noExplicitAny: typed by `Call`, as the caller sees it
  async function send(method: HttpMethod, path: any, init: any): Promise<{ data: any; response: Response }> {
    const { data, error, response } = await client.request(method, path as never, init as never)
    if (response.ok) return { data: data ?? null, response }
    throw new GantryError(response, typeof error === 'object' ? error : {})
  }

  const call =
    <Method extends HttpMethod>(method: Method): Call<Method> =>
    async (path, ...[init]) =>
      (await send(method, path, init)).data

  return {
    get: call('get'),
    post: call('post'),
    put: call('put'),
    patch: call('patch'),
    delete: call('delete'),
    /** All items of a list, page after page as they are consumed. */
    async *list<
      Path extends PathsWithMethod<paths, 'get'>,
      Init extends MaybeOptionalInit<paths[Path], 'get'>,
    >(path: Path, ...[init]: InitParam<Init>): AsyncGenerator<Item<Path>, void, undefined> {
      const { params, ...more } = (init ?? {}) as { params?: { path?: object; query?: object } }
      for (let page = 1; ; page += 1) {
        const query = { per_page: 100, ...params?.query, page }
        const { data, response } = await send('get', path, { ...more, params: { ...params, query } })
        yield* data as Item<Path>[]
        if (!/rel="next"/.test(response.headers.get('link') ?? '')) return
      }
    },
  }
}
