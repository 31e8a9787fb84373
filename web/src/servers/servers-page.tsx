import { Table } from '@mantine/core'
import { Plus, Server } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Environment } from '../api/types.ts'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { LatestRun } from '../scope/latest-run.tsx'
import { useLatestRuns } from '../scope/latest-runs.ts'
import { useSearch } from '../scope/scope.ts'
import { useAnyPermission } from '../session/permissions.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { GuardedButton, ReasonedButton } from '../ui/guarded-button.tsx'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { DataTable } from '../ui/parts.tsx'
import { plural } from '../ui/status.ts'
import { AddServerDialog } from './add-server-dialog.tsx'
import { connectionOf } from './connection.ts'
import { useServers } from './servers.ts'

type Adding = { environmentId?: number }

/** `?add=1` opens the dialog. */
export default function ServersPage() {
  const [search, update] = useSearch()
  const [adding, setAdding] = useState<Adding>()
  const { allowed, reason } = useAnyPermission('server:add', {})
  function close(): void {
    setAdding(undefined)
    if (search.has('add')) update({ add: undefined }, true)
  }
  return (
    <>
      <PageHeader title="Servers">
        <ReasonedButton
          reason={allowed ? undefined : reason}
          leftSection={<Plus size={16} strokeWidth={1.75} aria-hidden="true" />}
          onClick={() => setAdding({})}
        >
          Add server
        </ReasonedButton>
      </PageHeader>
      <EachEnvironment>
        {(environment) => (
          <EnvironmentServers
            environment={environment}
            add={() => setAdding({ environmentId: environment.id })}
          />
        )}
      </EachEnvironment>
      {(adding || search.has('add')) && <AddServerDialog {...adding} close={close} />}
    </>
  )
}

function EnvironmentServers({ environment, add }: { environment: Environment; add(): void }) {
  const runs = useLatestRuns(environment.id, 'server')
  const { project } = environment
  const scope = { organization: project.organization.id, project: project.id, environment: environment.id }
  return (
    <Loaded query={useServers(environment.id)} what="servers">
      {(servers) =>
        servers.length === 0 ? (
          <EmptyState
            icon={Server}
            title="No servers yet"
            isCompact
            action={
              <GuardedButton variant="default" permission="server:add" scope={scope} onClick={add}>
                Add server
              </GuardedButton>
            }
          >
            A server is where applications of {environment.name} run: this machine, or one that Gantry reaches
            over SSH.
          </EmptyState>
        ) : (
          <DataTable
            columns={['Name', 'Connection', 'Root directory', 'Applications', 'Last run']}
            aria-label={`Servers of ${project.name} / ${environment.name}`}
            highlightOnHover
          >
            {servers.map((server) => (
              <Table.Tr key={server.id}>
                <Table.Td className="wrap name-cell">
                  <Link href={`/servers/${server.id}`}>{server.name}</Link>
                </Table.Td>
                <Table.Td className="wrap">{connectionOf(server)}</Table.Td>
                <Table.Td className="wrap dimmed">
                  <code>{server.root_directory}</code>
                </Table.Td>
                <Table.Td className="numeric dimmed">
                  {plural(server.linked_resources.length, 'application')}
                </Table.Td>
                <Table.Td className="status-cell">
                  <LatestRun run={runs?.get(server.id)} />
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )
      }
    </Loaded>
  )
}
