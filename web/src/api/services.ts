// What every page needs, created once in main.tsx and passed by context.
import { type QueryKey, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect } from 'react'
import type { Api } from './api.ts'
import type { Connection } from './connection.ts'
import { throttle } from './signals.ts'
import type { ActionEvents } from './streams.ts'

export type Services = {
  api: Api
  connection: Connection
  actionEvents: ActionEvents
  /** Calls back when the service no longer accepts the session. */
  onSessionEnded(listener: () => void): () => void
}

export const ServicesContext = createContext<Services | undefined>(undefined)

export function useServices(): Services {
  const services = useContext(ServicesContext)
  if (!services) throw new Error('rendered outside of ServicesContext')
  return services
}

export const useApi = (): Api => useServices().api

/** Refetches these queries when actions change, at most once in `everyMs`. */
export function useRefetchOnActionEvents(queryKey: QueryKey, everyMs: number): void {
  const { actionEvents } = useServices()
  const queries = useQueryClient()
  // biome-ignore lint/correctness/useExhaustiveDependencies: callers pass constant keys
  useEffect(() => {
    const refetch = throttle(() => void queries.invalidateQueries({ queryKey }), everyMs)
    const unsubscribe = actionEvents.subscribe({ onEvents: refetch, onGap: refetch })
    return () => {
      refetch.cancel()
      unsubscribe()
    }
  }, [actionEvents, queries])
}
