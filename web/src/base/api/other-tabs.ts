// What one tab saves, the others show: they load again what they have open.
import type { QueryClient } from '@tanstack/react-query'
import { throttle } from './signals.ts'

const REFETCH_DELAY_MS = 200
/** Kept current by events, and large. */
const LIVE: unknown[] = ['actions', 'action']

export function shareChanges(queries: QueryClient): void {
  const channel = new BroadcastChannel('gantry-changes')
  const refetch = throttle(
    () => void queries.invalidateQueries({ predicate: ({ queryKey }) => !LIVE.includes(queryKey[0]) }),
    REFETCH_DELAY_MS,
  )
  channel.onmessage = () => refetch()
  queries.getMutationCache().subscribe((event) => {
    if (event.type === 'updated' && event.action.type === 'success') channel.postMessage('changed')
  })
}
