import { useMutation, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { HookRequestRecord } from '../api/types.ts'

/** Sends a delivery again, or repeats a call. */
export function useReplay({
  id,
  hook_id,
  action_id,
}: Pick<HookRequestRecord, 'id' | 'hook_id' | 'action_id'>) {
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => api.post('/hook-requests/{id}/replay', { params: { path: { id } } }),
    onSettled() {
      void queries.invalidateQueries({ queryKey: queryKeys.hookRequests(hook_id) })
      if (action_id !== null)
        void queries.invalidateQueries({ queryKey: queryKeys.actionHookRequests(action_id) })
    },
  })
}
