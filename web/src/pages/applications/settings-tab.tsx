// How an application is built, checked and kept, and the servers that it is deployed to.
import { Code, DataList } from '@mantine/core'
import { Link } from 'wouter'
import { useApi } from '#web/base/api/queries.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { Fact, SectionCard } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { type ApplicationRecord, SUBMODULES } from '#web/resources/applications/application-input.ts'
import { type LinkedRow, Links } from '#web/resources/applications/links.tsx'
import { healthText } from '#web/resources/pipelines/health-check-input.ts'
import { connectionOf } from '#web/resources/servers/server-input.ts'
import { useServers } from '#web/resources/servers/servers.ts'
import { scopeSearch } from '#web/shared/scope/scope.ts'

type SettingsTabProps = { application: ApplicationRecord; scope: PermissionScope | undefined }

export function SettingsTab({ application, scope }: SettingsTabProps) {
  return (
    <>
      <div className="columns">
        <Source application={application} organizationId={scope?.organization} />
        <Build application={application} />
      </div>
      <ApplicationServers application={application} scope={scope} />
    </>
  )
}

type SourceProps = { application: ApplicationRecord; organizationId: number | undefined }

function Source({ application, organizationId }: SourceProps) {
  const { credential } = application
  return (
    <SectionCard id="source" title="Source">
      <DataList labelWidth="8rem">
        <Fact label="Repository">{application.repository}</Fact>
        <Fact label="Branch">{application.default_branch}</Fact>
        <Fact label="Folder">{application.root_directory}</Fact>
        <Fact label="Submodules">{SUBMODULES[application.submodules]}</Fact>
        <Fact label="Credential">
          {credential && (
            <Link href={`/credentials${scopeSearch({ organization: organizationId! })}`}>
              {credential.name}
            </Link>
          )}
        </Fact>
        <Fact label="Added">
          <Age of={application.created_at} />
        </Fact>
      </DataList>
    </SectionCard>
  )
}

function Build({ application }: { application: ApplicationRecord }) {
  const { programming_language_human_readable: language } = application
  const kind = [language, application.engine_version, application.framework_human_readable].filter(Boolean)
  return (
    <SectionCard id="build" title="Build and release">
      <DataList labelWidth="8rem">
        <Fact label="Built with">{kind.join(' · ')}</Fact>
        <Fact label="Install">
          <Command text={application.install_dependencies_command} />
        </Fact>
        <Fact label="Build">
          <Command text={application.build_command} />
        </Fact>
        <Fact label="Health check">{application.health_check && healthText(application.health_check)}</Fact>
        <Fact label="Shared paths">{application.shared_paths.join(', ')}</Fact>
        <Fact label="Releases kept">{application.deployments_keep} on each server</Fact>
        <Fact label="Folder on servers">
          <code>{application.folder}</code>
        </Fact>
      </DataList>
    </SectionCard>
  )
}

function Command({ text }: { text: string | null }) {
  if (text === null) return <span className="dimmed">nothing to run</span>
  return (
    <Code block mah="8rem" tabIndex={0} aria-label="Command">
      {text}
    </Code>
  )
}

/** The servers that an application is deployed to. */
function ApplicationServers({ application, scope }: SettingsTabProps) {
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
