// Organizations, projects and environments, as far as the person may see them. They change rarely.
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Api } from '../api/api.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Environment } from '../api/types.ts'
import type { PermissionScope } from '../session/permissions.ts'

const CACHED = { staleTime: 60_000 }

export function useOrganizations() {
  const api = useApi()
  return useQuery({
    ...CACHED,
    queryKey: queryKeys.organizations,
    queryFn: ({ signal }) => api.all('/organizations', { signal }),
  })
}

export function projectsQuery(api: Api, organization: number | undefined) {
  return queryOptions({
    ...CACHED,
    queryKey: queryKeys.projects(organization),
    enabled: organization !== undefined,
    queryFn: ({ signal }) =>
      api.all('/organizations/{id}/projects', { params: { path: { id: organization! } }, signal }),
  })
}

export function useEnvironments(project: number | undefined) {
  const api = useApi()
  return useQuery({
    ...CACHED,
    queryKey: queryKeys.environments(project),
    enabled: project !== undefined,
    queryFn: ({ signal }) =>
      api.all('/projects/{id}/environments', { params: { path: { id: project! } }, signal }),
  })
}

export function useProject(id: number | null | undefined) {
  const api = useApi()
  return useQuery({
    ...CACHED,
    queryKey: queryKeys.project(id ?? undefined),
    enabled: typeof id === 'number',
    queryFn: ({ signal }) => api.get('/projects/{id}', { params: { path: { id: id! } }, signal }),
  })
}

/** Includes its project and organization, even for people who may see neither. */
export function useEnvironment(id: number | null | undefined) {
  const api = useApi()
  return useQuery({
    ...CACHED,
    queryKey: queryKeys.environment(id ?? undefined),
    enabled: typeof id === 'number',
    queryFn: ({ signal }) => api.get('/environments/{id}', { params: { path: { id: id! } }, signal }),
  })
}

type Located = { project_id: number; environment_id: number }

/** The environment of a resource, and the scope that its permissions are asked for. Both are undefined until loaded. */
export function useResourceScope({ project_id: project, environment_id: environment }: Located): {
  environment: Environment | undefined
  scope: PermissionScope | undefined
} {
  const { data } = useEnvironment(environment)
  return {
    environment: data,
    scope: data && { organization: data.project.organization.id, project, environment },
  }
}
