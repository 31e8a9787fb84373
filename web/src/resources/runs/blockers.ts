// The runs that another one waits for. The API says why a run waits; which runs those are follows from what runs now.
import { useQuery } from '@tanstack/react-query'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { ActionListItem } from '#web/base/api/types.ts'

type WaitingRun = {
  environmentId: number
  pipelineId: number
  serverIds: readonly number[]
  /** A `status_reason_code`. */
  reason: string | null
}

type Running = Pick<ActionListItem, 'id' | 'targets'>

const MAX_SHOWN = 3

/** Pure. Runs that are busy on these servers, the oldest first. */
export function busyOn(running: readonly Running[], serverIds: readonly number[]): number[] {
  return running
    .filter(({ targets }) =>
      targets.some(({ resource_id, status }) => serverIds.includes(resource_id) && status === 'in-progress'),
    )
    .map(({ id }) => id)
    .toSorted((one, other) => one - other)
    .slice(0, MAX_SHOWN)
}

export async function findBlockers(api: Api, waiting: WaitingRun, signal?: AbortSignal): Promise<number[]> {
  const isPipeline = waiting.reason === 'WAITING_CONCURRENCY_PIPELINE'
  const query = {
    'filter[status]': 'in-progress',
    ...(isPipeline
      ? { 'filter[pipeline_id]': String(waiting.pipelineId), per_page: MAX_SHOWN }
      : { 'filter[environment_id]': String(waiting.environmentId), per_page: 25 }),
  }
  const running = await api.get('/actions', { params: { query }, ...(signal && { signal }) })
  return isPipeline ? running.map(({ id }) => id).toReversed() : busyOn(running, waiting.serverIds)
}

/** Empty while they are not known. */
export function useBlockers(waiting: WaitingRun): number[] {
  const api = useApi()
  const { data } = useQuery({
    queryKey: queryKeys.blockers(waiting),
    enabled: waiting.reason?.startsWith('WAITING_CONCURRENCY') === true,
    refetchInterval: 4_000,
    queryFn: ({ signal }) => findBlockers(api, waiting, signal),
  })
  return data ?? []
}
