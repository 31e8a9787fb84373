import { useApi } from '../api/services.ts'
import { useApplications } from '../applications/applications.ts'
import { type LinkedRow, Links } from '../applications/links.tsx'
import type { PermissionScope } from '../session/permissions.ts'
import type { ServerRecord } from './server-input.ts'

type ServerApplicationsProps = { server: ServerRecord; scope: PermissionScope | undefined }

/** The applications that are deployed to a server. */
export function ServerApplications({ server, scope }: ServerApplicationsProps) {
  const api = useApi()
  const { data } = useApplications(server.environment_id)
  const isLinked = new Set(server.linked_resources.map(({ resource_id }) => resource_id))
  const rows = (data ?? []).map(
    ({ id, name, repository, default_branch }): LinkedRow => ({
      id,
      name,
      detail: `${repository} · ${default_branch}`,
    }),
  )
  const pathTo = (id: number) => ({ params: { path: { id: server.id, child_id: id } } })
  return (
    <Links
      type="application"
      title="Applications"
      name={server.name}
      linked={rows.filter(({ id }) => isLinked.has(id))}
      others={rows.filter(({ id }) => !isLinked.has(id))}
      permission="application:edit"
      scope={scope}
      empty="No application is deployed here"
      link={(id) => api.put('/resource-links/server/{id}/application/{child_id}', pathTo(id))}
      unlink={(id) => api.delete('/resource-links/server/{id}/application/{child_id}', pathTo(id))}
    />
  )
}
