import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { AuditEntry } from '#web/base/api/types.ts'
import { referencedIds } from './compare-values.ts'

const PER_PAGE = 50

type AuditQuery = Record<string, string | number>

/** Null: of all organizations, and of accounts. */
export function useAuditPage(organizationId: number | null, filters: AuditQuery, page: number) {
  const api = useApi()
  const query = { ...filters, page, per_page: PER_PAGE }
  return useQuery({
    queryKey: queryKeys.audit(organizationId, query),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      organizationId === null
        ? api.page('/audit', { params: { query }, signal })
        : api.page('/organizations/{id}/audit', { params: { path: { id: organizationId }, query }, signal }),
  })
}

type Person = { id: number; name: string; email: string }

/** Who may have done something. Empty while, or where, they cannot be listed. */
export function usePeople(organizationId: number | null): Person[] {
  const api = useApi()
  const { data } = useQuery({
    queryKey: queryKeys.auditPeople(organizationId),
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<Person[]> => {
      if (organizationId === null) return api.all('/users', { signal })
      const params = { path: { id: organizationId } }
      return (await api.all('/organizations/{id}/members', { params, signal })).map(({ user }) => user)
    },
  })
  return data ?? []
}

type NameOf = (type: string, id: string) => string | undefined

const MAX_IDS = 100
const NAMED =
  /^(organization|project|environment|application|server|pipeline|credential|incoming_hook|outgoing_hook)$/

/** The names of what an entry refers to, as far as it still exists and the person may see it. */
export function useEntryNames({ id, before, after, subject_type, subject_id }: AuditEntry): NameOf {
  const api = useApi()
  const { data } = useQuery({
    queryKey: queryKeys.auditNames(id),
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const ids = referencedIds(before, after)
      if (NAMED.test(subject_type))
        ids.set(subject_type, (ids.get(subject_type) ?? new Set()).add(subject_id))
      const lists = await Promise.all(
        [...ids].map(([type, wanted]) => {
          const query = { type, 'filter[id]': [...wanted].slice(0, MAX_IDS).join(), per_page: MAX_IDS }
          return api.page('/names', { params: { query }, signal })
        }),
      )
      return lists.flatMap(({ items }) => items)
    },
  })
  return (type, wanted) => data?.find((one) => one.type === type && String(one.id) === wanted)?.name
}
