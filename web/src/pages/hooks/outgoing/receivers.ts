// The catalog of receivers, as a query. It changes only with a release.
import { queryKeys, useGet } from '#web/base/api/queries.ts'

export function useReceivers() {
  return useGet(queryKeys.receivers, '/catalog/receivers', { staleTime: Number.POSITIVE_INFINITY })
}
