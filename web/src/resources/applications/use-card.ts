import { queryKeys, usePage, useRefetchOnActionEvents } from '#web/base/api/queries.ts'

/** Many people leave pages with cards open: requests are rare. */
export const REFETCH = { everyMs: 10_000, firstMs: 1_000 }

/** What is live of one application, its health and its last runs; null when it cannot be read. */
export function useCard(applicationId: number) {
  useRefetchOnActionEvents(queryKeys.applicationCards(), REFETCH.everyMs, REFETCH.firstMs)
  const query = { 'filter[resource_id]': String(applicationId) }
  return usePage(queryKeys.applicationCards(query), '/overview/applications', {
    params: { query },
    select: ({ items }) => items[0] ?? null,
  })
}
