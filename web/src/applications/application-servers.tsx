import { useApi } from '../api/services.ts'
import { connectionOf } from '../servers/connection.ts'
import { useServers } from '../servers/servers.ts'
import type { PermissionScope } from '../session/permissions.ts'
import type { ApplicationRecord } from './application-input.ts'
import { type LinkedRow, Links } from './links.tsx'

type ApplicationServersProps = { application: ApplicationRecord; scope: PermissionScope | undefined }

/** The servers that an application is deployed to. */
export function ApplicationServers({ application, scope }: ApplicationServersProps) {
  const api = useApi()
  const { data } = useServers(application.environment_id)
  const isLinked = new Set(application.linked_resources.map(({ resource_id }) => resource_id))
  const rows = (data ?? []).map(
    (server): LinkedRow => ({ id: server.id, name: server.name, detail: connectionOf(server) }),
  )
  const pathTo = (id: number) => ({ params: { path: { id: application.id, child_id: id } } })
  return (
    <Links
      type="server"
      title="Servers"
      name={application.name}
      linked={rows.filter(({ id }) => isLinked.has(id))}
      others={rows.filter(({ id }) => !isLinked.has(id))}
      permission="application:edit"
      scope={scope}
      empty="It is not deployed anywhere yet"
      link={(id) => api.put('/resource-links/application/{id}/server/{child_id}', pathTo(id))}
      unlink={(id) => api.delete('/resource-links/application/{id}/server/{child_id}', pathTo(id))}
    />
  )
}
