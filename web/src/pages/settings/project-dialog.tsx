import { TextInput } from '@mantine/core'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Project } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { EditDialog } from '#web/base/ui/dialog.tsx'
import { MoreOptions } from '#web/base/ui/more-options.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { useTreeChanged } from './tree-changed.ts'

type Values = { name: string; logo_url: string }

const bodyOf = ({ name, logo_url }: Values) => ({ name: name.trim(), logo_url: logo_url.trim() || null })
const valuesOf = ({ name, logo_url }: Project): Values => ({ name, logo_url: logo_url ?? '' })

/** Adds a project. */
export function ProjectDialog({ organizationId, close }: { organizationId: number; close(): void }) {
  const api = useApi()
  const changed = useTreeChanged()
  const form = useRecordForm<Values, Project>({
    id: `project-new-${organizationId}`,
    initial: { name: '', logo_url: '' },
    save: (values) =>
      api.post('/organizations/{id}/projects', {
        params: { path: { id: organizationId } },
        body: bodyOf(values),
      }),
    async onSaved({ name }) {
      close()
      notify.done(`Project ${name} added.`)
      await changed()
    },
  })
  return (
    <FormDialog
      title="Add project"
      form={form}
      submit="Add project"
      needs={{ permission: 'project:add', scope: { organization: organizationId } }}
      close={close}
    >
      <ProjectFields form={form} />
    </FormDialog>
  )
}

type EditProjectDialogProps = { project: Pick<Project, 'id' | 'name'>; close(): void }

export function EditProjectDialog({ project: { id, name }, close }: EditProjectDialogProps) {
  const key = [...queryKeys.project(id), 'edited']
  const query = useVersioned(key, '/projects/{id}', { params: { path: { id } } })
  return (
    <EditDialog title={`Edit ${name}`} what="project" query={query} close={close}>
      {({ record, version }) => <EditForm project={record} version={version} close={close} />}
    </EditDialog>
  )
}

type EditFormProps = { project: Project; version: string | null; close(): void }

function EditForm({ project, version, close }: EditFormProps) {
  const changed = useTreeChanged()
  const { id } = project
  const form = useRecordForm<Values, Project>({
    id: `project-${id}`,
    initial: valuesOf(project),
    version,
    ...useStored('/projects/{id}', { path: { id } }, valuesOf, bodyOf),
    async onSaved({ name }) {
      close()
      notify.done(`Project ${name} saved.`)
      await changed()
    },
  })
  return (
    <FormDialog
      title={`Edit ${project.name}`}
      form={form}
      submit="Save changes"
      needs={{ permission: 'project:edit', scope: { organization: project.organization.id, project: id } }}
      close={close}
    >
      <ProjectFields form={form} />
    </FormDialog>
  )
}

function ProjectFields({ form }: { form: RecordForm<Values> }) {
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.field('name')} />
      <MoreOptions isOpen={Boolean(form.errors.logo_url)}>
        <TextInput label="URL of a logo (optional)" type="url" {...form.field('logo_url')} />
      </MoreOptions>
    </>
  )
}
