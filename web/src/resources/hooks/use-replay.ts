import { useMutation } from '@tanstack/react-query'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { HookRequestRecord } from '#web/base/api/types.ts'

/** Sends a delivery again, or repeats a call. */
export function useReplay({
  id,
  hook_id,
  action_id,
}: Pick<HookRequestRecord, 'id' | 'hook_id' | 'action_id'>) {
  const api = useApi()
  const refetch = useRefetch()
  return useMutation({
    mutationFn: () => api.post('/hook-requests/{id}/replay', { params: { path: { id } } }),
    onSettled() {
      void refetch(queryKeys.hookRequests(hook_id))
      if (action_id !== null) void refetch(queryKeys.actionHookRequests(action_id))
    },
  })
}
