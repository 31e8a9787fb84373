import { NativeSelect, TextInput } from '@mantine/core'
import { useLocation } from 'wouter'
import { OPERATIONS } from '#client/index.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { usePermissions } from '../session/permissions.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { fillIn, type NewPipelineValues, operationsOf, type Resource, resourceKey } from './new-pipeline.ts'
import { type OfferedResource, useKnownResources } from './offered-resources.ts'
import { ResourceSelect } from './resource-select.tsx'
import { useRefreshPipelines } from './use-pipeline-changes.ts'

type AddPipelineDialogProps = {
  /** What it may run on, as `GET /names` takes it: `environment:3`. */
  within: string | undefined
  /** Chosen already. */
  resource?: Pick<Resource, 'type' | 'id'> | undefined
  close(): void
}

/** Everything is proposed: for a deploy pipeline one click is enough. */
export function AddPipelineDialog({ within, resource: given, close }: AddPipelineDialogProps) {
  const api = useApi()
  const [, navigate] = useLocation()
  const refresh = useRefreshPipelines()
  const resources = useKnownResources(within, given)
  const form = useRecordForm<NewPipelineValues, Pipeline>({
    id: `pipeline-new-${given ? resourceKey(given) : within}`,
    initial: { resource: given ? resourceKey(given) : '', operation: '', name: null },
    save(values) {
      const { resource, operation, name } = fillIn(values, resources.known)
      const path = { resource_id: resource!.id }
      return api.post(`/pipelines/${resource!.type}/{resource_id}`, {
        params: { path },
        body: { name: name.trim(), operation },
      })
    },
    onSaved(pipeline) {
      refresh()
      notify.done(`Pipeline ${pipeline.name} added.`)
      // One without steps cannot run yet.
      navigate(`/pipelines/${pipeline.id}${pipeline.steps.length === 0 ? '?add=last' : ''}`)
    },
  })
  const { resource, operation, name } = fillIn(form.values, resources.known)
  const operations = operationsOf(resource?.type ?? 'application')
  return (
    <FormDialog
      title="Add pipeline"
      submit="Add pipeline"
      form={form}
      reason={useReason(resource, resources.isLoaded)}
      close={close}
    >
      <ResourceSelect
        resources={resources}
        chosen={resource}
        choose={(key) => form.set('resource', key)}
        error={form.errors.resource}
      />
      <NativeSelect
        label="Operation"
        description={operation === 'deploy' ? 'Comes with the steps of a deploy.' : 'You add its steps next.'}
        data={operations.map((value) => ({ value, label: OPERATIONS[value] }))}
        {...form.field('operation')}
        value={operation}
      />
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.field('name')} value={name} />
    </FormDialog>
  )
}

/** Why no pipeline can be added for it. */
function useReason(chosen: OfferedResource | undefined, isLoaded: boolean): string | undefined {
  const isAllowed = usePermissions()
  if (!chosen) return isLoaded ? 'Add an application or a server first.' : 'Loading…'
  return isAllowed('pipeline:add', chosen.scope)
    ? undefined
    : 'Your role does not include pipeline:add there.'
}
