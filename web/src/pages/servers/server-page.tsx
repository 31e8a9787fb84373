import { DataList, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useHistoryState } from 'wouter/use-browser-location'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import { useVersioned } from '#web/base/form/versioned.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { CopyField } from '#web/base/ui/copy-field.tsx'
import { Loaded } from '#web/base/ui/page.tsx'
import { Fact, SectionCard } from '#web/base/ui/parts.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useApplications } from '#web/resources/applications/applications.ts'
import { type LinkedRow, Links } from '#web/resources/applications/links.tsx'
import { useCredentials } from '#web/resources/credentials/credentials.ts'
import { ResourcePipelines } from '#web/resources/pipelines/resource-pipelines.tsx'
import { ConnectionCheck } from '#web/resources/servers/check-result.tsx'
import type { ServerRecord } from '#web/resources/servers/server-input.ts'
import { useInventoryChanged } from '#web/resources/servers/servers.ts'
import { EditAndRemove, ResourceHeader } from '#web/shared/resource-header.tsx'
import { scopeSearch } from '#web/shared/scope/scope.ts'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import { EditServerDialog } from './edit-server-dialog.tsx'

export default function ServerPage({ id }: { id: string }) {
  const query = useVersioned(queryKeys.server(id), '/servers/{id}', { params: { path: { id: Number(id) } } })
  return (
    <Loaded query={query} what="server">
      {({ record, version }) => <ServerDetails server={record} version={version} />}
    </Loaded>
  )
}

type ServerDetailsProps = { server: ServerRecord; version: string | null }

function ServerDetails({ server, version }: ServerDetailsProps) {
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'edit' | 'remove'>()
  const { environment, scope } = useResourceScope(server)
  const organization = scope?.organization
  return (
    <>
      <ResourceHeader type="server" record={server} environment={environment}>
        <EditAndRemove type="server" scope={scope} open={setOpen} />
      </ResourceHeader>
      <div className="columns">
        <Facts server={server} organizationId={organization} />
        <Connection server={server} organizationId={organization} scope={scope} />
      </div>
      <ServerApplications server={server} scope={scope} />
      <ResourcePipelines type="server" id={server.id} environmentId={server.environment_id} scope={scope} />
      {open === 'edit' && organization && (
        <EditServerDialog
          server={server}
          version={version}
          organizationId={organization}
          close={() => setOpen(undefined)}
        />
      )}
      {open === 'remove' && (
        <RemoveDialog
          what="server"
          name={server.name}
          id={server.id}
          onRemoved={() => {
            void changed()
            navigate(`/servers${scopeSearch(scope)}`)
          }}
          close={() => setOpen(undefined)}
        >
          Applications are no longer deployed to it. Past runs, and files on the server, remain.
        </RemoveDialog>
      )}
    </>
  )
}

type PartProps = { server: ServerRecord; organizationId: number | undefined }

function Facts({ server, organizationId }: PartProps) {
  const { data } = useCredentials(organizationId)
  const key = data?.find(({ id }) => id === server.credential_id)
  const isSsh = server.provider_code === 'ssh'
  const limit = server.max_parallel_actions
  return (
    <SectionCard id="details" title="Details">
      <DataList labelWidth="10rem">
        <Fact label="Connection">{isSsh ? 'SSH' : 'The machine that Gantry runs on'}</Fact>
        <Fact label="Host">{isSsh && `${server.host}${server.port === 22 ? '' : `:${server.port}`}`}</Fact>
        <Fact label="Login">{server.login_name}</Fact>
        <Fact label="SSH key">
          {key && <Link href={`/credentials?organization=${organizationId}`}>{key.name}</Link>}
        </Fact>
        <Fact label="Root directory">
          <code>{server.root_directory}</code>
        </Fact>
        <Fact label="Worker">{server.worker_name}</Fact>
        <Fact label="Max concurrent runs">{limit === 0 ? 'unlimited' : limit}</Fact>
        <Fact label="Added">
          <Age of={server.created_at} /> by {server.created_by_user.name}
        </Fact>
      </DataList>
    </SectionCard>
  )
}

function Connection({ server, organizationId, scope }: PartProps & { scope: PermissionScope | undefined }) {
  const { data } = useCredentials(organizationId)
  const isNew = useHistoryState<{ isNew?: boolean } | null>()?.isNew === true
  const key = data?.find(({ id }) => id === server.credential_id)
  return (
    <SectionCard id="connection" title="Connection">
      <Stack gap="md">
        {key?.public_key && (
          <CopyField
            label="Public key"
            description={`Goes into ~/.ssh/authorized_keys of ${server.login_name} on the server.`}
            value={key.public_key}
          />
        )}
        {server.provider_code === 'ssh' && (
          <Text size="sm" className="wrap">
            {server.host_key_fingerprint ? (
              <>
                Pinned host key <code>{server.host_key_fingerprint}</code>
              </>
            ) : (
              <span className="dimmed">
                No host key is pinned yet. The first run pins the one that it sees.
              </span>
            )}
          </Text>
        )}
        {scope && <ConnectionCheck server={server} scope={scope} isAutomatic={isNew} />}
      </Stack>
    </SectionCard>
  )
}

type ServerApplicationsProps = { server: ServerRecord; scope: PermissionScope | undefined }

/** The applications that are deployed to a server. */
function ServerApplications({ server, scope }: ServerApplicationsProps) {
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
