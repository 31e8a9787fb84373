import { useQuery } from '@tanstack/react-query'
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

export function useProjects(organization: number | undefined) {
  const api = useApi()
  return useQuery({
    ...KEPT,
    queryKey: ['projects', organization],
    enabled: organization !== undefined,
    queryFn: ({ signal }) =>
      api.ask('GET /organizations/{id}/projects', { path: { id: organization! }, query: ALL, signal }),
  })
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

/** A pipeline names its project; grants hang on the organization above it, which not everybody may look at. */
export function useOrganizationOf(project: number): number | 'unknown' | undefined {
  const api = useApi()
  const { data, error } = useQuery({
    ...KEPT,
    queryKey: ['project', project],
    queryFn: ({ signal }) => api.ask('GET /projects/{id}', { path: { id: project }, signal }),
  })
  return error && !data ? 'unknown' : data?.organization.id
}
