import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Api } from '../api/api.ts'
import { useApi } from '../api/services.ts'

// What stands above actions, as far as the person may see it. It changes rarely, so it is kept for a while.
const KEPT = { staleTime: 60_000 }
const ALL = { per_page: 100 }

export function useOrganizations() {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['organizations'],
    queryFn: ({ signal }) => api.ask('GET /organizations', { query: ALL, signal }),
  })
}

export function projectsOf(api: Api, organization: number) {
  return queryOptions({
    ...KEPT,
    queryKey: ['projects', organization],
    queryFn: ({ signal }) =>
      api.ask('GET /organizations/{id}/projects', { path: { id: organization }, query: ALL, signal }),
  })
}

export function useProjects(organization: number | undefined) {
  const api = useApi()
  return useQuery({ ...projectsOf(api, organization ?? 0), enabled: organization !== undefined })
}

export function useEnvironments(project: number | undefined) {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['environments', project],
    enabled: project !== undefined,
    queryFn: ({ signal }) =>
      api.ask('GET /projects/{id}/environments', { path: { id: project! }, query: ALL, signal }),
  })
}

export function useProject(id: number | undefined) {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['project', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => api.ask('GET /projects/{id}', { path: { id: id! }, signal }),
  })
}

/** It names its project and that its organization, to people too who may look at neither. */
export function useEnvironment(id: number | undefined) {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['environment', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => api.ask('GET /environments/{id}', { path: { id: id! }, signal }),
  })
}
