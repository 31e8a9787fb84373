import { Plus, Server } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Environment } from '../api/types.ts'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { LatestRun, useLatestRuns } from '../scope/latest-run.tsx'
import { useSearch } from '../scope/scope.ts'
import { useAnyPermission } from '../session/permissions.ts'
import { GuardedButton, ReasonedButton } from '../ui/guarded-button.tsx'
import { EmptyState, Loaded, PageHeader } from '../ui/page.tsx'
import { plural } from '../ui/status.ts'
import { RowTable } from '../ui/table.tsx'
import { AddServerDialog } from './add-server-dialog.tsx'
import { connectionOf } from './server-input.ts'
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
        <ReasonedButton reason={allowed ? undefined : reason} icon={Plus} onClick={() => setAdding({})}>
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
      {(servers) => (
        <RowTable
          label={`Servers of ${project.name} / ${environment.name}`}
          rows={servers}
          highlightOnHover
          columns={[
            ['Name', 'wrap name-cell', ({ id, name }) => <Link href={`/servers/${id}`}>{name}</Link>],
            ['Connection', 'wrap', connectionOf],
            ['Root directory', 'wrap dimmed', ({ root_directory }) => <code>{root_directory}</code>],
            ['Applications', 'numeric dimmed', (one) => plural(one.linked_resources.length, 'application')],
            ['Last run', 'status-cell', ({ id }) => <LatestRun run={runs?.get(id)} />],
          ]}
          empty={
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
              A server is where applications of {environment.name} run: this machine, or one that Gantry
              reaches over SSH.
            </EmptyState>
          }
        />
      )}
    </Loaded>
  )
}
