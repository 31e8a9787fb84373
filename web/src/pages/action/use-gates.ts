// The gates of a run, and what it ships, loaded so that both are about the same.
import { hasEnded } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { Action } from '#web/base/api/types.ts'
import { subjectOf } from './gates.ts'

const REFETCH_INTERVAL_MS = 5_000
const PREPARING_INTERVAL_MS = 1_000
const CHANGES_INTERVAL_MS = 4_000

export function useGates({ id, status, status_reason_code }: Action) {
  return useGet(queryKeys.actionGates(id, `${status} ${status_reason_code}`), '/actions/{id}/gates', {
    params: { path: { id } },
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => {
      if (hasEnded(status)) return false
      const isPreparing = state.data?.gates.some(({ details }) => details.is_preparing)
      return isPreparing ? PREPARING_INTERVAL_MS : REFETCH_INTERVAL_MS
    },
  })
}

/** Loaded again for what people are asked to approve now: they approve what they see. */
export function useChanges(action: Action) {
  const { id, type, status } = action
  const subject = subjectOf(useGates(action).data)
  // Known at the latest when it ends.
  return useGet(queryKeys.actionChanges(id, status, subject), '/actions/{action_id}/changes', {
    params: { path: { action_id: id } },
    enabled: type === 'deploy',
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => (state.data?.state === 'pending' ? CHANGES_INTERVAL_MS : false),
  })
}
