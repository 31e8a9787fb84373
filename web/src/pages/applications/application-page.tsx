import { Code, DataList } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { combineQueries, queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { useVersioned } from '#web/base/form/versioned.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Fact, HookBadge, Section, SectionCard } from '#web/base/ui/parts.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { VariablesSection } from '#web/pages/applications/variables/variables-section.tsx'
import { type ApplicationRecord, SUBMODULES } from '#web/resources/applications/application-input.ts'
import { type LinkedRow, Links } from '#web/resources/applications/links.tsx'
import { healthText } from '#web/resources/pipelines/health-check-input.ts'
import { hooksQuery } from '#web/resources/pipelines/pipelines.ts'
import { ResourcePipelines, useResourcePipelines } from '#web/resources/pipelines/resource-pipelines.tsx'
import { connectionOf } from '#web/resources/servers/server-input.ts'
import { useInventoryChanged, useServers } from '#web/resources/servers/servers.ts'
import { EditAndRemove, ResourceHeader } from '#web/shared/resource-header.tsx'
import { scopeSearch } from '#web/shared/scope/scope.ts'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import { EditApplicationDialog } from './edit-application-dialog.tsx'
import { Releases } from './releases.tsx'
import { ServerReleases } from './server-releases.tsx'

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
          id={application.id}
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

/** The hooks of all pipelines of an application. */
function ApplicationHooks({ applicationId }: { applicationId: number }) {
  const { data } = useResourcePipelines('application', applicationId)
  // Without pipelines there is nothing that a hook could trigger.
  if (!data || data.length === 0) return null
  return (
    <Section id="hooks" title="Hooks">
      <PipelineHooks pipelines={data} />
    </Section>
  )
}

function PipelineHooks({ pipelines }: { pipelines: Pipeline[] }) {
  const api = useApi()
  const query = useQueries({
    queries: pipelines.map(({ id }) => hooksQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="hooks">
      {(lists) => {
        const rows = lists.flatMap((hooks, index) =>
          hooks.map((hook) => ({ id: hook.id, hook, pipeline: pipelines[index]! })),
        )
        return (
          <RowTable
            label="Hooks"
            rows={rows}
            columns={[
              [
                'Name',
                'wrap name-cell',
                ({ hook: { type, id, name } }) => <Link href={`/hooks/${type}/${id}`}>{name}</Link>,
              ],
              [
                'Direction',
                'dimmed',
                ({ hook }) => (hook.type === 'incoming' ? 'Incoming: starts runs' : 'Outgoing: reports runs'),
              ],
              ['Pipeline', 'wrap dimmed', ({ pipeline }) => pipeline.name],
              ['State', undefined, ({ hook }) => <HookBadge hook={hook} />],
            ]}
            empty={<span className="dimmed">No hooks yet</span>}
          />
        )
      }}
    </Loaded>
  )
}
