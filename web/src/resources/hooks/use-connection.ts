// What people do with the connection of a hook.
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { useVersioned } from '#web/base/form/versioned.ts'
import { notify } from '#web/base/ui/notify.ts'

const UNDER_WAY_MS = 1_000
const WATCHED_MS = 15_000
/** A host that is asked within its rate limit may let Gantry wait; then the page stops asking so often. */
const MAX_CHECK_MS = 30_000

/** The hook, loaded again for as long as something about its repository is under way, and now and then afterward. */
export function useWatchedHook(id: string, isChecking = false) {
  return useVersioned(
    queryKeys.hook('incoming', id),
    '/hooks/incoming/{hook_id}',
    { params: { path: { hook_id: id } } },
    (hook) => {
      if (isChecking || hook?.connection?.state === 'connecting' || hook?.poll?.polled_at === null)
        return UNDER_WAY_MS
      return hook?.connection || hook?.poll ? WATCHED_MS : false
    },
  )
}

/** Connects, or repairs. */
export function useConnect(hookId: string) {
  const api = useApi()
  const refetch = useRefetch()
  return useMutation({
    mutationFn: () =>
      api.post('/hooks/incoming/{hook_id}/connection', { params: { path: { hook_id: hookId } } }),
    onSettled: () => refetch(queryKeys.hook('incoming', hookId)),
  })
}

/** `isChecking` until the host has answered. */
export function useCheckNow({ id, connection }: Hook) {
  const api = useApi()
  const [asked, setAsked] = useState<{ since: string | null; at: number }>()
  const { mutate, isPending } = useMutation({
    mutationFn: () =>
      api.post('/hooks/incoming/{hook_id}/connection/check', { params: { path: { hook_id: id } } }),
    onMutate: () => setAsked({ since: connection?.checked_at ?? null, at: Date.now() }),
    onError(error) {
      setAsked(undefined)
      notify.problem(error)
    },
  })
  const isAwaited =
    asked !== undefined && connection?.checked_at === asked.since && Date.now() - asked.at < MAX_CHECK_MS
  const isChecking = isPending || isAwaited
  useWatchedHook(id, isChecking)
  return { check: mutate, isChecking }
}
