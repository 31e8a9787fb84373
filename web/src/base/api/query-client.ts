import { QueryClient } from '@tanstack/react-query'
import { GantryError, UnreachableError } from '#client/index.ts'

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnReconnect: 'always',
        // An outage is retried for as long as it lasts; an error response is final.
        retry: (failures, error) =>
          error instanceof UnreachableError || (failures < 1 && !(error instanceof GantryError)),
        retryDelay: 300,
      },
      // A run must not start later than its person believes: no mutation waits for the connection.
      mutations: { networkMode: 'always', retry: false },
    },
  })
}
