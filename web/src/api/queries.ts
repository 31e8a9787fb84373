import { QueryClient } from '@tanstack/react-query'
import { Away } from './api.ts'

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnReconnect: 'always',
        // A service that is away is asked again when it is back, however long that takes. A refusal stays one.
        retry: (failures, error) => error instanceof Away || (failures < 1 && !isAnswer(error)),
        retryDelay: 300,
      },
      // A run must not start later than its person believes: what cannot be asked now is not kept for later.
      mutations: { networkMode: 'always', retry: false },
    },
  })
}

function isAnswer(error: Error): boolean {
  return 'status' in error
}
