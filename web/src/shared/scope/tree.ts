// Organizations, projects and environments, as far as the person may see them. They change rarely.
import { queryOptions } from '@tanstack/react-query'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useAll, useGet } from '#web/base/api/queries.ts'
import type { Environment } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { useScope } from './scope.ts'

const CACHED = { staleTime: 60_000 }

export function useOrganizations() {
  return useAll(queryKeys.organizations, '/organizations', { ...CACHED })
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
  return useAll(queryKeys.environments(project), '/projects/{id}/environments', {
    params: { path: { id: project! } },
    ...CACHED,
    enabled: project !== undefined,
  })
}

export function useProject(id: number | null | undefined) {
  return useGet(queryKeys.project(id ?? undefined), '/projects/{id}', {
    params: { path: { id: id! } },
    ...CACHED,
    enabled: typeof id === 'number',
  })
}

/** Includes its project and organization, even for people who may see neither. */
export function useEnvironment(id: number | null | undefined) {
  return useGet(queryKeys.environment(id ?? undefined), '/environments/{id}', {
    params: { path: { id: id! } },
    ...CACHED,
    enabled: typeof id === 'number',
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

/**
 * The selected organization, else the first one that the person may see. Undefined while that is loading, and for
 * people who may see no organization as a whole.
 */
export function useOrganizationId(): number | undefined {
  const [scope] = useScope()
  const { data } = useOrganizations()
  return scope.organization ?? data?.[0]?.id
}
