import { TextInput } from '@mantine/core'
import { AppWindow } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useApi } from '#web/base/api/queries.ts'
import type { Environment } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import { RowTable } from '#web/base/ui/table.tsx'
import {
  AdvancedFields,
  CommandFields,
  HealthFields,
  ServersField,
} from '#web/resources/applications/application-fields.tsx'
import {
  APPLICATION_LABELS,
  type ApplicationRecord,
  type ApplicationValues,
  applicationBody,
  NEW_APPLICATION,
  withKnownOnly,
} from '#web/resources/applications/application-input.ts'
import { useApplications } from '#web/resources/applications/applications.ts'
import { RepositoryFields } from '#web/resources/applications/repository-fields.tsx'
import { TryHealth } from '#web/resources/applications/try-health.tsx'
import { useCredentials } from '#web/resources/credentials/credentials.ts'
import { healthField } from '#web/resources/pipelines/health-check-input.ts'
import { useInventoryChanged, useServers } from '#web/resources/servers/servers.ts'
import { AddDialog, type NewInEnvironment } from '#web/shared/scope/add-dialog.tsx'
import { EachEnvironment } from '#web/shared/scope/each-environment.tsx'
import type { EnvironmentChoice } from '#web/shared/scope/environment-choice.ts'
import { LatestRun, useLatestRuns } from '#web/shared/scope/latest-run.tsx'
import { AddButton } from '#web/shared/scope/start-here.tsx'

type Adding = { environmentId?: number }

const EMPTY = {
  icon: AppWindow,
  title: 'No applications yet',
  text: 'An application is a repository and the servers that it is deployed to.',
}

export default function ApplicationsPage() {
  const [adding, setAdding] = useState<Adding>()
  return (
    <>
      <PageHeader title="Applications">
        <AddButton permission="application:add" needs="environment" onClick={() => setAdding({})}>
          Add application
        </AddButton>
      </PageHeader>
      <EachEnvironment empty={EMPTY}>
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
  const scope = environmentScope(environment)
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
              (one) => (
                <LatestRun run={runs?.newest.get(one.id) ?? one.last_deployments.latest} scope={scope} />
              ),
            ],
          ]}
          empty={
            <EmptyState
              {...EMPTY}
              isCompact
              action={
                <GuardedButton variant="default" permission="application:add" scope={scope} onClick={add}>
                  Add application
                </GuardedButton>
              }
            >
              {EMPTY.text}
            </EmptyState>
          }
        />
      )}
    </Loaded>
  )
}

type AddApplicationDialogProps = { environmentId?: number | undefined; close(): void }

function AddApplicationDialog({ environmentId, close }: AddApplicationDialogProps) {
  return (
    <AddDialog type="application" environmentId={environmentId} close={close}>
      {(chosen) => <AddApplicationForm {...chosen} close={close} />}
    </AddDialog>
  )
}

type AddApplicationFormProps = NewInEnvironment & { close(): void }

function AddApplicationForm({ choice, reason, environmentField, close }: AddApplicationFormProps) {
  const api = useApi()
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const { data: servers } = useServers(choice.environment)
  const form = useRecordForm<ApplicationValues, ApplicationRecord>({
    id: 'application-new',
    initial: NEW_APPLICATION,
    fields: healthField,
    save: (values) =>
      api.post('/environments/{id}/applications', {
        params: { path: { id: choice.environment } },
        body: applicationBody(values),
      }),
    onSaved({ id, name }) {
      close()
      notify.done(`Application ${name} added.`)
      void changed()
      navigate(`/applications/${id}`)
    },
  })
  useDropUnknownRefs(form, choice)
  return (
    <FormDialog
      title="Add application"
      form={form}
      submit="Add application"
      labels={APPLICATION_LABELS}
      reason={reason}
      close={close}
    >
      {environmentField(() => {
        // Servers belong to one environment, credentials to one organization.
        form.set('linked_resources', [])
        form.set('credential_id', '')
      })}
      <RepositoryFields
        form={form}
        organizationId={choice.organization}
        projectId={choice.project}
        environmentId={choice.environment}
      />
      <TextInput label="Name" {...form.field('name')} />
      <ServersField form={form} servers={servers} />
      <CommandFields form={form} />
      <HealthFields form={form}>
        <TryHealth values={form.values} scope={choice} serverIds={form.values.linked_resources} />
      </HealthFields>
      <AdvancedFields form={form} />
      <Dimmed>
        With a pipeline and a hook as well: <Link href="/new">set it up step by step</Link>
      </Dimmed>
    </FormDialog>
  )
}

/** A draft may come from another environment, with servers and a credential that this one does not have. */
function useDropUnknownRefs(form: RecordForm<ApplicationValues>, choice: EnvironmentChoice): void {
  const { data: servers } = useServers(choice.environment)
  const { data: credentials, isError } = useCredentials(choice.organization)
  const isDone = useRef(false)
  useEffect(() => {
    if (isDone.current || !servers || (!credentials && !isError)) return
    isDone.current = true
    const known = withKnownOnly(form.values, servers, credentials ?? [])
    form.set('linked_resources', known.linked_resources)
    form.set('credential_id', known.credential_id)
  }, [servers, credentials, isError, form])
}
