import { type QueryKey, useQuery } from '@tanstack/react-query'
import type { Data, GetInit, GetPath, InitParam } from '#client/index.ts'
import { useApi } from '../../api/services.ts'

/** A record with the version that a change of it names. */
export function useVersioned<Path extends GetPath>(queryKey: QueryKey, path: Path, init: GetInit<Path>) {
  const api = useApi()
  return useQuery({
    queryKey: [...queryKey, 'versioned'],
    queryFn: async ({ signal }) => {
      const { data, etag } = await api.getVersioned(
        path,
        ...([{ ...init, signal }] as InitParam<GetInit<Path>>),
      )
      return { record: data as Data<'get', Path>, version: etag }
    },
  })
}
