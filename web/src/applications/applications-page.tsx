import { AppWindow, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Environment } from '../api/types.ts'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { LatestRun, useLatestRuns } from '../scope/latest-run.tsx'
import { useAnyPermission } from '../session/permissions.ts'
import { GuardedButton, ReasonedButton } from '../ui/guarded-button.tsx'
import { EmptyState, Loaded, PageHeader } from '../ui/page.tsx'
import { plural } from '../ui/status.ts'
import { RowTable } from '../ui/table.tsx'
import { AddApplicationDialog } from './add-application-dialog.tsx'
import { useApplications } from './applications.ts'

type Adding = { environmentId?: number }

export default function ApplicationsPage() {
  const [adding, setAdding] = useState<Adding>()
  const { allowed, reason } = useAnyPermission('application:add', {})
  return (
    <>
      <PageHeader title="Applications">
        <ReasonedButton reason={allowed ? undefined : reason} icon={Plus} onClick={() => setAdding({})}>
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
      {(applications) => (
        <RowTable
          label={`Applications of ${project.name} / ${environment.name}`}
          rows={applications}
          highlightOnHover
          columns={[
            ['Name', 'wrap name-cell', ({ id, name }) => <Link href={`/applications/${id}`}>{name}</Link>],
            ['Repository', 'wrap dimmed', ({ repository }) => repository],
            ['Branch', 'wrap dimmed', ({ default_branch }) => default_branch],
            ['Servers', 'numeric dimmed', (one) => plural(one.linked_resources.length, 'server')],
            [
              'Last run',
              'status-cell',
              (one) => <LatestRun run={runs?.get(one.id) ?? one.last_deployments.latest} />,
            ],
          ]}
          empty={
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
          }
        />
      )}
    </Loaded>
  )
}
