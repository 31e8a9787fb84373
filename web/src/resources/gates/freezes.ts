// What holds runs back, as several pages show it: freezes of the scope that a person looks at, and runs that wait for them.
import { useQueries } from '@tanstack/react-query'
import { queryKeys, useAll, useApi, usePage } from '#web/base/api/queries.ts'
import type { Freeze } from '#web/base/api/types.ts'
import type { Scope } from '#web/shared/scope/scope.ts'
import { useOrganizations } from '#web/shared/scope/tree.ts'

/** The name of the freeze that the button of this name makes. */
export const STOP_THE_LINE = 'Stop the line'

const REFETCH_INTERVAL_MS = 15_000
/** Each is read by itself. */
const MAX_ORGANIZATIONS = 50

/** Those in force now. */
export function useFreezes(scope: Scope): Freeze[] {
  return useEveryFreeze(scope).filter(({ in_force }) => in_force)
}

/** The organization that is selected; else the only one, if there is only one. */
export function useTheOrganization({ organization }: Scope): number | undefined {
  const { data = [] } = useOrganizations()
  return organization ?? (data.length === 1 ? data[0]!.id : undefined)
}

/** Of the environment with its organization, or of the organization; without one selected, of every organization. */
export function useEveryFreeze({ environment, organization }: Scope): Freeze[] {
  const api = useApi()
  const { data: organizations = [] } = useOrganizations()
  const ofEnvironment = useAll(queryKeys.freezes('environment', environment), '/environments/{id}/freezes', {
    params: { path: { id: environment ?? 0 } },
    enabled: environment !== undefined,
    refetchInterval: REFETCH_INTERVAL_MS,
  })
  const shown = organization === undefined ? organizations.map(({ id }) => id) : [organization]
  const ofOrganizations = useQueries({
    queries: (environment === undefined ? shown.slice(0, MAX_ORGANIZATIONS) : []).map((id) => ({
      queryKey: queryKeys.freezes('organization', id),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.all('/organizations/{id}/freezes', { params: { path: { id } }, signal }),
      refetchInterval: REFETCH_INTERVAL_MS,
    })),
    combine: joinFreezes,
  })
  return environment === undefined ? ofOrganizations : (ofEnvironment.data ?? [])
}

const joinFreezes = (queries: { data: Freeze[] | undefined }[]) => queries.flatMap(({ data = [] }) => data)

/** Where a freeze holds, for people who may look at several organizations at the same time. */
export function usePlaceOf({ organization }: Scope): (freeze: Freeze) => string {
  const { data: organizations = [] } = useOrganizations()
  return ({ environment_id, organization_id }) => {
    if (environment_id !== null) return 'this environment'
    const named = organizations.find(({ id }) => id === organization_id)
    const isClear = organization !== undefined || organizations.length < 2
    return isClear || !named ? 'this organization' : named.name
  }
}

/** How many runs wait for the decision of this person: "3", or "100+". */
export function useWaitingForYou(): string | undefined {
  const { data } = usePage(queryKeys.waitingForYou, '/actions', {
    params: { query: { 'filter[approvable]': 'true', per_page: 1 } },
    refetchInterval: REFETCH_INTERVAL_MS,
  })
  const count = Number.parseInt(data?.total ?? '0', 10)
  if (count === 0) return undefined
  return count > 100 ? '100+' : String(count)
}
