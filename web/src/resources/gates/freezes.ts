// What holds runs back, as several pages show it: freezes of the scope that a person looks at, and runs that wait for them.
import { queryKeys, useAll, usePage } from '#web/base/api/queries.ts'
import type { Freeze } from '#web/base/api/types.ts'
import type { Scope } from '#web/shared/scope/scope.ts'
import { useOrganizations } from '#web/shared/scope/tree.ts'

/** The name of the freeze that the button of this name makes. */
export const STOP_THE_LINE = 'Stop the line'

const REFETCH_INTERVAL_MS = 15_000

/** Those in force now. */
export function useFreezes(scope: Scope): Freeze[] {
  return useEveryFreeze(scope).filter(({ in_force }) => in_force)
}

/** The organization that is selected; else the only one, if there is only one. */
export function useTheOrganization({ organization }: Scope): number | undefined {
  const { data = [] } = useOrganizations()
  return organization ?? (data.length === 1 ? data[0]!.id : undefined)
}

/** Of the environment with its organization, or of the organization. */
export function useEveryFreeze(scope: Scope): Freeze[] {
  const { environment } = scope
  const organization = useTheOrganization(scope)
  const options = { refetchInterval: REFETCH_INTERVAL_MS }
  const ofEnvironment = useAll(queryKeys.freezes('environment', environment), '/environments/{id}/freezes', {
    params: { path: { id: environment ?? 0 } },
    enabled: environment !== undefined,
    ...options,
  })
  const ofOrganization = useAll(
    queryKeys.freezes('organization', organization),
    '/organizations/{id}/freezes',
    {
      params: { path: { id: organization ?? 0 } },
      enabled: environment === undefined && organization !== undefined,
      ...options,
    },
  )
  const { data = [] } = environment === undefined ? ofOrganization : ofEnvironment
  return data
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
