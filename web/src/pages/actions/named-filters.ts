// Filters by something that has a name: options to choose from, and the names of those in the URL.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import { useSession } from '#web/base/session/session.ts'
import type { Scope } from '#web/shared/scope/scope.ts'
import { useOrganizationId } from '#web/shared/scope/tree.ts'

export type Option = { value: string; label: string; details: string }

const MAX_OPTIONS = 20
const CACHED = { staleTime: 30_000, placeholderData: keepPreviousData }

/** Pure. The innermost level that is selected. */
export function withinScope({ organization, project, environment }: Scope): string | undefined {
  if (environment !== undefined) return `environment:${environment}`
  if (project !== undefined) return `project:${project}`
  return organization === undefined ? undefined : `organization:${organization}`
}

export type NameType = 'pipeline' | 'application,server'

export function useNameOptions(type: NameType, scope: Scope, search: string, isOpen: boolean): Option[] {
  const query = { type, q: search.slice(0, 200), within: withinScope(scope), per_page: MAX_OPTIONS }
  const { data } = useGet(queryKeys.names(query), '/names', { params: { query }, ...CACHED, enabled: isOpen })
  return (data ?? []).map((entry) => ({
    value: type === 'pipeline' ? String(entry.id) : `${entry.type}:${entry.id}`,
    label: entry.name,
    details: entry.path,
  }))
}

/** `value`: ids of pipelines, or one `application:5`. The number stands for what has no visible name. */
export function useNamesOf(type: NameType, value: string): string {
  const [kind, ids] = type === 'pipeline' ? (['pipeline', value] as const) : splitResource(value)
  const query = { type: kind, 'filter[id]': ids }
  const { data } = useGet(queryKeys.names(query), '/names', {
    params: { query },
    ...CACHED,
    enabled: value !== '',
  })
  return namesOf(ids, data)
}

function splitResource(value: string): ['application' | 'server', string] {
  const [kind, id = ''] = value.split(':')
  return [kind as 'application' | 'server', id]
}

/** Pure. */
export function namesOf(ids: string, entries: Pick<NameEntry, 'id' | 'name'>[] | undefined): string {
  return ids
    .split(',')
    .map((id) => entries?.find((entry) => String(entry.id) === id)?.name ?? `#${id}`)
    .join(', ')
}

/** The members of the selected organization, as far as the person may see them; the person first. */
export function usePeopleOptions(search: string, isOpen: boolean): Option[] {
  const { user } = useSession()
  const id = useOrganizationId()
  const query = { 'filter[name]': search.slice(0, 200) || undefined, per_page: MAX_OPTIONS }
  const { data } = useGet(queryKeys.people(id, search), '/organizations/{id}/members', {
    params: { path: { id: id! }, query },
    ...CACHED,
    enabled: isOpen && id !== undefined,
    retry: false,
  })
  const others = (data ?? []).filter((member) => member.user_id !== user.id).map((member) => member.user)
  return [
    ...(`${user.name} ${user.email}`.toLowerCase().includes(search.toLowerCase()) ? [user] : []),
    ...others,
  ].map((one) => ({
    value: String(one.id),
    label: one.id === user.id ? `${one.name} (you)` : one.name,
    details: one.email,
  }))
}

/** `value`: ids of users. */
export function usePeopleNames(value: string): string {
  const api = useApi()
  const { user } = useSession()
  const organization = useOrganizationId()
  const ids = value.split(',')
  const { data } = useQuery({
    ...CACHED,
    queryKey: queryKeys.people(organization, `#${value}`),
    enabled: value !== '' && organization !== undefined && value !== String(user.id),
    retry: false,
    queryFn: async ({ signal }) => {
      const read = (id: string) =>
        api.get('/organizations/{id}/members/{user_id}', {
          params: { path: { id: organization!, user_id: Number(id) } },
          signal,
        })
      const found = await Promise.allSettled(ids.slice(0, MAX_OPTIONS).map(read))
      return found.flatMap((result) => (result.status === 'fulfilled' ? [result.value.user] : []))
    },
  })
  return namesOf(value, [user, ...(data ?? [])])
}
