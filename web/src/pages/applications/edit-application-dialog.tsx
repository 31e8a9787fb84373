import { TextInput } from '@mantine/core'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored } from '#web/base/form/versioned.ts'
import { notify } from '#web/base/ui/notify.ts'
import {
  AdvancedFields,
  CommandFields,
  HealthFields,
} from '#web/resources/applications/application-fields.tsx'
import {
  APPLICATION_LABELS,
  type ApplicationRecord,
  type ApplicationValues,
  applicationChange,
  applicationValues,
} from '#web/resources/applications/application-input.ts'
import { RepositoryFields } from '#web/resources/applications/repository-fields.tsx'
import { TryHealth } from '#web/resources/applications/try-health.tsx'
import { healthField } from '#web/resources/pipelines/health-check-input.ts'
import { useInventoryChanged } from '#web/resources/servers/servers.ts'

type EditApplicationDialogProps = {
  application: ApplicationRecord
  version: string | null
  organizationId: number
  close(): void
}

export function EditApplicationDialog(props: EditApplicationDialogProps) {
  const { application, version, organizationId, close } = props
  const changed = useInventoryChanged()
  const { id } = application
  const form = useRecordForm<ApplicationValues, ApplicationRecord>({
    id: `application-${id}`,
    initial: applicationValues(application),
    version,
    fields: healthField,
    ...useStored('/applications/{id}', { path: { id } }, applicationValues, (values, base) =>
      applicationChange(base, values),
    ),
    onSaved({ name }) {
      close()
      notify.done(`Application ${name} saved.`)
      void changed()
    },
  })
  const { project_id: project, environment_id: environment } = application
  const scope = { organization: organizationId, project, environment }
  return (
    <FormDialog
      title={`Edit ${application.name}`}
      form={form}
      submit="Save changes"
      labels={APPLICATION_LABELS}
      needs={{ permission: 'application:edit', scope }}
      close={close}
    >
      <TextInput label="Name" {...form.field('name')} />
      <RepositoryFields
        form={form}
        organizationId={organizationId}
        projectId={application.project_id}
        environmentId={application.environment_id}
      />
      <CommandFields form={form} />
      <HealthFields form={form}>
        <TryHealth
          values={form.values}
          scope={scope}
          serverIds={form.values.linked_resources}
          applicationId={id}
        />
      </HealthFields>
      <AdvancedFields form={form} />
    </FormDialog>
  )
}
