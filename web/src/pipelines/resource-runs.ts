// The newest runs of the pipelines of one application or server.
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi, useRefetchOnActionEvents } from '../api/services.ts'
import type { ActionListItem, Pipeline } from '../api/types.ts'

const REFETCH_INTERVAL_MS = 2_000
const SHOWN = 8
/** A request for each: those of a resource with more pipelines are incomplete. */
const MAX_PIPELINES = 12

export type PipelineRun = { action: ActionListItem; pipeline: Pick<Pipeline, 'id' | 'name'> }

/** Newest first, with the newest run of each pipeline by its id. */
export function useResourceRuns(pipelines: readonly Pipeline[] | undefined) {
  const api = useApi()
  useRefetchOnActionEvents(queryKeys.resourceRuns(), REFETCH_INTERVAL_MS)
  return useQuery({
    queryKey: queryKeys.resourceRuns((pipelines ?? []).map(({ id }) => id)),
    enabled: pipelines !== undefined,
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(
        (pipelines ?? []).slice(0, MAX_PIPELINES).map(async (pipeline): Promise<PipelineRun[]> => {
          const query = { 'filter[pipeline_id]': String(pipeline.id), per_page: SHOWN }
          const actions = await api.get('/actions', { params: { query }, signal })
          return actions.map((action) => ({ action, pipeline }))
        }),
      )
      const latest = new Map(lists.flatMap(([run]) => (run ? [[run.pipeline.id, run.action] as const] : [])))
      const recent = lists.flat().sort((one, other) => other.action.id - one.action.id)
      return { latest, recent: recent.slice(0, SHOWN) }
    },
  })
}
