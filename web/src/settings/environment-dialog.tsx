import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { ENVIRONMENT_TYPES } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Environment, EnvironmentRecord, Project } from '../api/types.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import type { EnvironmentValues } from './environment-input.ts'
import { environmentBody, environmentValues, withType } from './environment-input.ts'
import { RetentionFields } from './retention-fields.tsx'
import { describeRetention, retentionField, retentionValues } from './retention-input.ts'
import { useTreeChanged } from './tree-changed.ts'

type AddEnvironmentDialogProps = { project: Project; close(): void }

export function AddEnvironmentDialog({ project, close }: AddEnvironmentDialogProps) {
  const api = useApi()
  const changed = useTreeChanged()
  const form = useRecordForm<EnvironmentValues, EnvironmentRecord>({
    id: `environment-new-${project.id}`,
    initial: { type: 'production', name: 'Production', description: '', ...retentionValues(null) },
    fields: retentionField,
    save: (values) =>
      api.post('/projects/{id}/environments', {
        params: { path: { id: project.id } },
        body: environmentBody(values),
      }),
    async onSaved({ name }) {
      close()
      notify.done(`Environment ${name} added.`)
      await changed()
    },
  })
  return (
    <FormDialog
      title={`Add environment to ${project.name}`}
      form={form}
      submit="Add environment"
      needs={{
        permission: 'environment:add',
        scope: { organization: project.organization.id, project: project.id },
      }}
      close={close}
    >
      <EnvironmentFields form={form} />
    </FormDialog>
  )
}

type EditEnvironmentDialogProps = { environment: Pick<Environment, 'id' | 'name'>; close(): void }

export function EditEnvironmentDialog({ environment: { id, name }, close }: EditEnvironmentDialogProps) {
  const key = [...queryKeys.environment(id), 'edited']
  const query = useVersioned(key, '/environments/{id}', { params: { path: { id } } })
  if (query.data)
    return <EditForm environment={query.data.record} version={query.data.version} close={close} />
  return (
    <Dialog title={`Edit ${name}`} close={close} size="lg">
      <Loaded query={query} what="environment">
        {() => null}
      </Loaded>
    </Dialog>
  )
}

type EditFormProps = { environment: EnvironmentRecord; version: string | null; close(): void }

function EditForm({ environment, version, close }: EditFormProps) {
  const api = useApi()
  const changed = useTreeChanged()
  const { id } = environment
  const form = useRecordForm<EnvironmentValues, EnvironmentRecord>({
    id: `environment-${id}`,
    initial: environmentValues(environment),
    fields: retentionField,
    version,
    save: (values, ifMatch) =>
      api.put('/environments/{id}', {
        params: { path: { id }, header: { 'If-Match': ifMatch } },
        body: environmentBody(values),
      }),
    async reload() {
      const { data, etag } = await api.getVersioned('/environments/{id}', { params: { path: { id } } })
      return { values: environmentValues(data), version: etag }
    },
    async onSaved({ name }) {
      close()
      notify.done(`Environment ${name} saved.`)
      await changed()
    },
  })
  const { project } = environment
  const scope = { organization: project.organization.id, project: project.id, environment: id }
  return (
    <FormDialog
      title={`Edit ${environment.name}`}
      form={form}
      submit="Save changes"
      needs={{ permission: 'environment:edit', scope }}
      close={close}
    >
      <EnvironmentFields
        form={form}
        defaults={environment.retention ? undefined : describeRetention(environment.effective_retention)}
      />
    </FormDialog>
  )
}

type EnvironmentFieldsProps = { form: RecordForm<EnvironmentValues>; defaults?: string | undefined }

function EnvironmentFields({ form, defaults }: EnvironmentFieldsProps) {
  const choose = (type: EnvironmentValues['type']) => {
    form.set('name', withType(form.values, type).name)
    form.set('type', type)
  }
  return (
    <>
      <NativeSelect
        label="Stage"
        data-autofocus
        data={Object.entries(ENVIRONMENT_TYPES)
          .toReversed()
          .map(([value, label]) => ({ value, label }))}
        {...form.field('type')}
        onChange={(event) => choose(event.currentTarget.value as EnvironmentValues['type'])}
      />
      <TextInput label="Name" autoComplete="off" {...form.field('name')} />
      <Textarea label="Description (optional)" rows={2} {...form.field('description')} />
      <RetentionFields form={form} defaults={defaults} />
    </>
  )
}
