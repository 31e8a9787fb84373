import { Code, DataList } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { queryKeys, useApi } from '../api/queries.ts'
import { healthText } from '../pipelines/health-check-input.ts'
import { ResourcePipelines } from '../pipelines/resource-pipelines.tsx'
import { scopeSearch } from '../scope/scope.ts'
import { useResourceScope } from '../scope/tree.ts'
import { connectionOf } from '../servers/server-input.ts'
import { useInventoryChanged, useServers } from '../servers/servers.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { Loaded } from '../ui/page.tsx'
import { Fact, SectionCard } from '../ui/parts.tsx'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { EditAndRemove, ResourceHeader } from '../ui/resource-header.tsx'
import { Age } from '../ui/time.tsx'
import { ApplicationHooks } from './application-hooks.tsx'
import { type ApplicationRecord, SUBMODULES } from './application-input.ts'
import { EditApplicationDialog } from './edit-application-dialog.tsx'
import { type LinkedRow, Links } from './links.tsx'
import { Releases } from './releases.tsx'
import { ServerReleases } from './server-releases.tsx'
import { VariablesSection } from './variables/variables-section.tsx'

export default function ApplicationPage({ id }: { id: string }) {
  const params = { path: { id: Number(id) } }
  const query = useVersioned(queryKeys.application(id), '/applications/{id}', { params })
  return (
    <Loaded query={query} what="application">
      {({ record, version }) => <ApplicationDetails application={record} version={version} />}
    </Loaded>
  )
}

type ApplicationDetailsProps = { application: ApplicationRecord; version: string | null }

function ApplicationDetails({ application, version }: ApplicationDetailsProps) {
  const api = useApi()
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'edit' | 'remove'>()
  const { environment, scope } = useResourceScope(application)
  const organization = scope?.organization
  return (
    <>
      <ResourceHeader type="application" record={application} environment={environment}>
        <EditAndRemove type="application" scope={scope} open={setOpen} />
      </ResourceHeader>
      <div className="columns">
        <Source application={application} organizationId={organization} />
        <Releases application={application} />
      </div>
      <ResourcePipelines
        type="application"
        id={application.id}
        environmentId={application.environment_id}
        scope={scope}
      />
      <ServerReleases applicationId={application.id} scope={scope} />
      <ApplicationServers application={application} scope={scope} />
      <VariablesSection applicationId={application.id} scope={scope} />
      <ApplicationHooks applicationId={application.id} />
      {open === 'edit' && organization && (
        <EditApplicationDialog
          application={application}
          version={version}
          organizationId={organization}
          close={() => setOpen(undefined)}
        />
      )}
      {open === 'remove' && (
        <RemoveDialog
          what="application"
          name={application.name}
          within={{ type: 'application', id: application.id }}
          remove={() =>
            api.delete('/applications/{id}', {
              params: { path: { id: application.id }, query: { cascade: true } },
            })
          }
          onRemoved={() => {
            void changed()
            navigate(`/applications${scopeSearch(scope)}`)
          }}
          close={() => setOpen(undefined)}
        >
          Its variables are deleted. Past runs, and files on servers, remain.
        </RemoveDialog>
      )}
    </>
  )
}

type SourceProps = { application: ApplicationRecord; organizationId: number | undefined }

function Source({ application, organizationId }: SourceProps) {
  const { credential, programming_language_human_readable: language } = application
  const kind = [language, application.engine_version, application.framework_human_readable].filter(Boolean)
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
        <Fact label="Built with">{kind.join(' · ')}</Fact>
        <Fact label="Install">
          <Command text={application.install_dependencies_command} />
        </Fact>
        <Fact label="Build">
          <Command text={application.build_command} />
        </Fact>
        <Fact label="Health check">{application.health_check && healthText(application.health_check)}</Fact>
        <Fact label="Shared paths">{application.shared_paths.join(', ')}</Fact>
        <Fact label="Added">
          <Age of={application.created_at} />
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

type ApplicationServersProps = { application: ApplicationRecord; scope: PermissionScope | undefined }

/** The servers that an application is deployed to. */
function ApplicationServers({ application, scope }: ApplicationServersProps) {
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
