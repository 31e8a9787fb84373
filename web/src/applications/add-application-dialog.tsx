import { TextInput } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useApi } from '../api/queries.ts'
import { useCredentials } from '../credentials/credentials.ts'
import { healthField } from '../pipelines/health-check-input.ts'
import { AddDialog, type ChosenEnvironment } from '../scope/add-dialog.tsx'
import type { EnvironmentChoice } from '../scope/environment-choice.ts'
import { useInventoryChanged, useServers } from '../servers/servers.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { Dimmed } from '../ui/parts.tsx'
import { AdvancedFields, CommandFields, HealthFields, ServersField } from './application-fields.tsx'
import {
  APPLICATION_LABELS,
  type ApplicationRecord,
  type ApplicationValues,
  applicationBody,
  NEW_APPLICATION,
  withKnownOnly,
} from './application-input.ts'
import { RepositoryFields } from './repository-fields.tsx'

type AddApplicationDialogProps = { environmentId?: number | undefined; close(): void }

export function AddApplicationDialog({ environmentId, close }: AddApplicationDialogProps) {
  return (
    <AddDialog type="application" environmentId={environmentId} close={close}>
      {(chosen) => <AddApplicationForm {...chosen} close={close} />}
    </AddDialog>
  )
}

type AddApplicationFormProps = ChosenEnvironment & { close(): void }

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
      <HealthFields form={form} />
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
