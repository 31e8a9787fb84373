// Pipelines belong to resources, and resources to environments; the API lists each level separately.
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { combineQueries, type QueryState, queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline, RunBody } from '../api/types.ts'

const CACHED = { staleTime: 30_000 }

type Resource = { type: 'application' | 'server'; id: number; name: string }
export type ResourcePipeline = { pipeline: Pipeline; resource: Resource }

/** Everything in an environment that has pipelines. */
function useResources(environmentId: number) {
  const api = useApi()
  return useQuery({
    ...CACHED,
    queryKey: queryKeys.resources(environmentId),
    queryFn: async ({ signal }): Promise<Resource[]> => {
      const input = { params: { path: { id: environmentId } }, signal }
      const [applications, servers] = await Promise.all([
        api.all('/environments/{id}/applications', input),
        api.all('/environments/{id}/servers', input),
      ])
      return [
        ...applications.map(({ id, name }) => ({ type: 'application' as const, id, name })),
        ...servers.map(({ id, name }) => ({ type: 'server' as const, id, name })),
      ]
    },
  })
}

/** The pipelines of all resources of an environment. */
export function usePipelines(environmentId: number): QueryState<ResourcePipeline[]> {
  const api = useApi()
  const resources = useResources(environmentId)
  const pipelines = useQueries({
    queries: (resources.data ?? []).map(({ type, id }) => ({
      ...CACHED,
      queryKey: queryKeys.pipelines(type, id),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.all(`/pipelines/${type}/{resource_id}`, { params: { path: { resource_id: id } }, signal }),
    })),
    combine: combineQueries,
  })
  if (!resources.data) return { ...resources, data: undefined }
  return {
    ...pipelines,
    data: pipelines.data?.flatMap((list, index) =>
      list.map((pipeline) => ({ pipeline, resource: resources.data[index]! })),
    ),
  }
}

export function usePipeline(id: string | number) {
  const api = useApi()
  return useQuery({
    ...CACHED,
    queryKey: queryKeys.pipeline(id),
    queryFn: ({ signal }) => api.get('/pipelines/{id}', { params: { path: { id: id as number } }, signal }),
  })
}

export function hooksQuery(api: ReturnType<typeof useApi>, pipelineId: number) {
  return {
    queryKey: queryKeys.hooks(pipelineId),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      api.all('/pipelines/{id}/hooks', { params: { path: { id: pipelineId } }, signal }),
  }
}

/** What a run would do; an error where it could not run. */
export function usePlan(pipelineId: number, body: RunBody, enabled = true) {
  const api = useApi()
  // A plan does not depend on the comment.
  const { trigger_comment: _, ...planned } = body
  return useQuery({
    queryKey: queryKeys.plan(pipelineId, planned),
    enabled,
    // What it would wait for changes all the time.
    staleTime: 0,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) =>
      api.post('/pipelines/{id}/plan', { params: { path: { id: pipelineId } }, body: planned, signal }),
  })
}
