import { Table } from '@mantine/core'
import { AppWindow, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Environment } from '../api/types.ts'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { LatestRun } from '../scope/latest-run.tsx'
import { useLatestRuns } from '../scope/latest-runs.ts'
import { useAnyPermission } from '../session/permissions.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { GuardedButton, ReasonedButton } from '../ui/guarded-button.tsx'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { DataTable } from '../ui/parts.tsx'
import { plural } from '../ui/status.ts'
import { AddApplicationDialog } from './add-application-dialog.tsx'
import { useApplications } from './applications.ts'

type Adding = { environmentId?: number }

export default function ApplicationsPage() {
  const [adding, setAdding] = useState<Adding>()
  const { allowed, reason } = useAnyPermission('application:add', {})
  return (
    <>
      <PageHeader title="Applications">
        <ReasonedButton
          reason={allowed ? undefined : reason}
          leftSection={<Plus size={16} strokeWidth={1.75} aria-hidden="true" />}
          onClick={() => setAdding({})}
        >
          Add application
        </ReasonedButton>
      </PageHeader>
      <EachEnvironment>
        {(environment) => (
          <EnvironmentApplications
            environment={environment}
            add={() => setAdding({ environmentId: environment.id })}
          />
        )}
      </EachEnvironment>
      {adding && <AddApplicationDialog {...adding} close={() => setAdding(undefined)} />}
    </>
  )
}

function EnvironmentApplications({ environment, add }: { environment: Environment; add(): void }) {
  const runs = useLatestRuns(environment.id, 'application')
  const { project } = environment
  const scope = { organization: project.organization.id, project: project.id, environment: environment.id }
  return (
    <Loaded query={useApplications(environment.id)} what="applications">
      {(applications) =>
        applications.length === 0 ? (
          <EmptyState
            icon={AppWindow}
            title="No applications yet"
            isCompact
            action={
              <GuardedButton variant="default" permission="application:add" scope={scope} onClick={add}>
                Add application
              </GuardedButton>
            }
          >
            An application is a repository and the servers that it is deployed to.
          </EmptyState>
        ) : (
          <DataTable
            columns={['Name', 'Repository', 'Branch', 'Servers', 'Last run']}
            aria-label={`Applications of ${project.name} / ${environment.name}`}
            highlightOnHover
          >
            {applications.map((application) => (
              <Table.Tr key={application.id}>
                <Table.Td className="wrap name-cell">
                  <Link href={`/applications/${application.id}`}>{application.name}</Link>
                </Table.Td>
                <Table.Td className="wrap dimmed">{application.repository}</Table.Td>
                <Table.Td className="wrap dimmed">{application.default_branch}</Table.Td>
                <Table.Td className="numeric dimmed">
                  {plural(application.linked_resources.length, 'server')}
                </Table.Td>
                <Table.Td className="status-cell">
                  <LatestRun run={runs?.get(application.id) ?? application.last_deployments.latest} />
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )
      }
    </Loaded>
  )
}
