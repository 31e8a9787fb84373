import { keepPreviousData, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Page } from '#client/index.ts'
import { queryKeys, usePage, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import { useServices } from '#web/base/api/services.ts'
import type { ApplicationCard } from '#web/base/api/types.ts'
import { REFETCH } from '#web/resources/applications/use-card.ts'
import { type Scope, scopeFilters } from '#web/shared/scope/scope.ts'
import { applyMoves } from './cards.ts'

/** Ages of health checks, drift and links change without an event. */
const IDLE_REFETCH_MS = 60_000

/** One page of the cards in a scope whose names match `q`. */
export function useApplicationCards(scope: Scope, q: string, page: number) {
  useRefetchOnActionEvents(queryKeys.applicationCards(), REFETCH.everyMs, REFETCH.firstMs)
  useMoves()
  const query = { ...scopeFilters(scope), ...(q !== '' && { q }), page }
  return usePage(queryKeys.applicationCards(query), '/overview/applications', {
    params: { query },
    placeholderData: keepPreviousData,
    refetchInterval: IDLE_REFETCH_MS,
  })
}

function useMoves(): void {
  const { actionEvents } = useServices()
  const queries = useQueryClient()
  useEffect(
    () =>
      actionEvents.subscribe({
        onEvents: (moves) =>
          queries.setQueriesData<Page<ApplicationCard>>(
            { queryKey: queryKeys.applicationCards() },
            (page) => {
              const items = applyMoves(page?.items ?? [], moves)
              const isChanged = items.some((card, index) => card !== page!.items[index])
              return isChanged ? { ...page!, items } : undefined
            },
          ),
        onGap() {},
      }),
    [actionEvents, queries],
  )
}
