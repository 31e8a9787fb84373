import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { type components, ENVIRONMENT_TYPES } from '#client/index.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Environment, EnvironmentRecord, Project } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { EditDialog } from '#web/base/ui/dialog.tsx'
import { notify } from '#web/base/ui/notify.ts'
import {
  describeRetention,
  LIMIT_LABELS,
  LIMITS,
  type RetentionValues,
  retentionBody,
  retentionField,
  retentionValues,
} from './retention-input.ts'
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
  return (
    <EditDialog title={`Edit ${name}`} what="environment" query={query} close={close}>
      {({ record, version }) => <EditForm environment={record} version={version} close={close} />}
    </EditDialog>
  )
}

type EditFormProps = { environment: EnvironmentRecord; version: string | null; close(): void }

function EditForm({ environment, version, close }: EditFormProps) {
  const changed = useTreeChanged()
  const { id } = environment
  const form = useRecordForm<EnvironmentValues, EnvironmentRecord>({
    id: `environment-${id}`,
    initial: environmentValues(environment),
    fields: retentionField,
    version,
    ...useStored('/environments/{id}', { path: { id } }, environmentValues, environmentBody),
    async onSaved({ name }) {
      close()
      notify.done(`Environment ${name} saved.`)
      await changed()
    },
  })
  const scope = environmentScope(environment)
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
      <TextInput label="Name" {...form.field('name')} />
      <Textarea label="Description (optional)" rows={2} spellCheck {...form.field('description')} />
      <RetentionFields form={form} defaults={defaults} />
    </>
  )
}

type RetentionFieldsProps = { form: RecordForm<EnvironmentValues>; defaults: string | undefined }

/** `defaults`: what the installation keeps, in words, where it is known. */
function RetentionFields({ form, defaults }: RetentionFieldsProps) {
  return (
    <>
      <NativeSelect
        label="Keep old data"
        description="What is live, unfinished or on a server's disk is never removed."
        data={[
          { value: 'default', label: `Installation default${defaults ? `: ${defaults}` : ''}` },
          { value: 'own', label: 'As set here' },
        ]}
        {...form.field('retention')}
      />
      {form.values.retention === 'own' && (
        <div className="columns">
          {LIMITS.map((limit) => (
            <TextInput
              key={limit}
              label={LIMIT_LABELS[limit]}
              placeholder="Forever"
              inputMode="numeric"
              {...form.field(limit)}
            />
          ))}
        </div>
      )}
    </>
  )
}

// What the form of an environment holds, and what it sends. Pure.
type Body = components['schemas']['CreateEnvironmentRequest']
type EnvironmentValues = { type: Body['type']; name: string; description: string } & RetentionValues

/** The name follows the stage until the person writes one. */
function withType(before: EnvironmentValues, type: Body['type']): EnvironmentValues {
  const isUnnamed = before.name.trim() === '' || before.name === ENVIRONMENT_TYPES[before.type]
  return { ...before, type, name: isUnnamed ? ENVIRONMENT_TYPES[type] : before.name }
}

function environmentValues({ type, name, description, retention }: EnvironmentRecord): EnvironmentValues {
  return { type, name, description: description ?? '', ...retentionValues(retention) }
}

function environmentBody({ type, name, description, ...limits }: EnvironmentValues): Body {
  return {
    type,
    name: name.trim(),
    description: description.trim() || null,
    retention: retentionBody(limits),
  }
}
