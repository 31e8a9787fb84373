// Pipelines stand at resources, and resources in environments; the API lists each level by itself.
import { useQueries, useQuery } from '@tanstack/react-query'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api-types.ts'

const KEPT = { staleTime: 30_000 }
const ALL = { per_page: 100 }

export type ResourceOf = { type: 'application' | 'server'; id: number; name: string }
export type PipelineOf = { pipeline: Pipeline; resource: ResourceOf }

/** What an environment has to run pipelines on. */
export function useResources(environmentId: number | undefined) {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['resources', environmentId],
    enabled: environmentId !== undefined,
    queryFn: async ({ signal }): Promise<ResourceOf[]> => {
      const input = { path: { id: environmentId! }, query: ALL, signal }
      const [applications, servers] = await Promise.all([
        api.ask('GET /environments/{id}/applications', input),
        api.ask('GET /environments/{id}/servers', input),
      ])
      return [
        ...applications.map(({ id, name }) => ({ type: 'application' as const, id, name })),
        ...servers.map(({ id, name }) => ({ type: 'server' as const, id, name })),
      ]
    },
  })
}

/** Undefined until all of them were read. */
export function usePipelines(environmentId: number | undefined): {
  pipelines: PipelineOf[] | undefined
  error: Error | null
} {
  const api = useApi()
  const resources = useResources(environmentId)
  const results = useQueries({
    queries: (resources.data ?? []).map((resource) => ({
      ...KEPT,
      queryKey: ['pipelines', resource.type, resource.id],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const input = { path: { resource_id: resource.id }, query: ALL, signal }
        return resource.type === 'application'
          ? api.ask('GET /pipelines/application/{resource_id}', input)
          : api.ask('GET /pipelines/server/{resource_id}', input)
      },
    })),
  })
  const error = resources.error ?? results.find((result) => result.error)?.error ?? null
  if (!resources.data || results.some((result) => !result.data)) return { pipelines: undefined, error }
  const pipelines = resources.data.flatMap((resource, index) =>
    results[index]!.data!.map((pipeline) => ({ pipeline, resource })),
  )
  return { pipelines, error }
}

export function usePipeline(id: string) {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['pipeline', id],
    queryFn: ({ signal }) =>
      api.ask('GET /pipelines/{id}', { path: { id: id as unknown as number }, signal }),
  })
}
