import { Plus } from 'lucide-react'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { type Scope, useScope, useSearch } from '../scope/scope.ts'
import { useAnyPermission } from '../session/permissions.ts'
import { ReasonedButton } from '../ui/guarded-button.tsx'
import { PageHeader } from '../ui/page.tsx'
import { AddPipelineDialog } from './add-pipeline-dialog.tsx'
import { EnvironmentPipelines } from './environment-pipelines.tsx'
import { parseResourceKey } from './new-pipeline.ts'

/** `?add=1` opens the dialog, `?add=application:12` for this application: other pages link to it. */
export default function PipelinesPage() {
  const [scope] = useScope()
  const [search, update] = useSearch()
  const add = search.get('add')
  const open = (key: string | undefined) => update({ add: key }, true)
  return (
    <>
      <PageHeader title="Pipelines">
        <AddButton scope={scope} add={() => open('1')} />
      </PageHeader>
      <EachEnvironment>
        {(environment) => (
          <EnvironmentPipelines
            environment={environment}
            addButton={
              <AddButton
                scope={{
                  organization: environment.project.organization.id,
                  project: environment.project.id,
                  environment: environment.id,
                }}
                add={() => open(`environment:${environment.id}`)}
                isSecond
              />
            }
          />
        )}
      </EachEnvironment>
      {add !== null && (
        <AddPipelineDialog
          within={withinOf(add) ?? scopeKey(scope)}
          resource={parseResourceKey(add)}
          close={() => open(undefined)}
        />
      )}
    </>
  )
}

/** What the dialog offers, as `GET /names` takes it: everything of the narrowest scope that is selected. */
function scopeKey({ organization, project, environment }: Scope): string | undefined {
  if (environment !== undefined) return `environment:${environment}`
  if (project !== undefined) return `project:${project}`
  return organization === undefined ? undefined : `organization:${organization}`
}

function withinOf(add: string): string | undefined {
  return /^environment:[1-9]\d{0,14}$/.test(add) ? add : undefined
}

function AddButton({ scope, add, isSecond = false }: { scope: Scope; add(): void; isSecond?: boolean }) {
  const { allowed, reason } = useAnyPermission('pipeline:add', scope)
  return (
    <ReasonedButton
      reason={allowed ? undefined : reason}
      variant={isSecond ? 'default' : 'filled'}
      icon={Plus}
      onClick={add}
    >
      Add pipeline
    </ReasonedButton>
  )
}
