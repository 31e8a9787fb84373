// Records with the version that a change of them names.
import { type QueryKey, useQuery } from '@tanstack/react-query'
import type { Data, GetInit, GetPath, paths } from '#client/index.ts'
import { useApi } from '#web/base/api/queries.ts'
import type { Stored } from './rebase.ts'

/** `refetchMs`: how often it is loaded again; by default not by itself. */
export function useVersioned<Path extends GetPath>(
  queryKey: QueryKey,
  path: Path,
  init: GetInit<Path>,
  refetchMs?: (record: Data<'get', Path> | undefined) => number | false,
) {
  const api = useApi()
  return useQuery<{ record: Data<'get', Path>; version: string | null }>({
    queryKey: [...queryKey, 'versioned'],
    ...(refetchMs && { refetchInterval: ({ state }) => refetchMs(state.data?.record) }),
    queryFn: async ({ signal }) => {
      const { data, etag } = await api.getVersioned(path, { ...init, signal } as never)
      return { record: data as Data<'get', Path>, version: etag }
    },
  })
}

/** Paths of records that can be changed. */
type RecordPath = { [Path in GetPath]: paths[Path]['put'] extends object ? Path : never }[GetPath]

/** How a form saves a record, on top of the version that the person saw, and reads it again. */
export function useStored<Path extends RecordPath, Values>(
  path: Path,
  params: { path: object },
  valuesOf: (record: Data<'get', Path>) => Values,
  bodyOf: (values: Values, base: Values) => object,
  /** Parameters of the change that are no fields of the record. */
  queryOf: (values: Values) => object = () => ({}),
) {
  const api = useApi()
  return {
    save(values: Values, ifMatch: string | undefined, base: Values): Promise<Data<'put', Path>> {
      const header = ifMatch === undefined ? {} : { 'If-Match': ifMatch }
      const init = { params: { ...params, query: queryOf(values), header }, body: bodyOf(values, base) }
      return api.put(path, init as never) as Promise<Data<'put', Path>>
    },
    async reload(): Promise<Stored<Values>> {
      const { data, etag } = await api.getVersioned(path, { params } as never)
      return { values: valuesOf(data as Data<'get', Path>), version: etag }
    },
  }
}
