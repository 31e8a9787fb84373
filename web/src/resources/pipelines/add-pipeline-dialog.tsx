import { NativeSelect, Select, TextInput } from '@mantine/core'
import { useLocation } from 'wouter'
import { OPERATIONS } from '#client/index.ts'
import { useApi } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { usePermissions } from '#web/base/session/permissions.ts'
import { notify } from '#web/base/ui/notify.ts'
import { fillIn, type NewPipelineValues, operationsOf, type Resource, resourceKey } from './new-pipeline.ts'
import { type KnownResources, type OfferedResource, useKnownResources } from './offered-resources.ts'
import { useRefreshPipelines } from './pipelines.ts'

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
      <TextInput label="Name" data-autofocus {...form.field('name')} value={name} />
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

type ResourceSelectProps = {
  resources: KnownResources
  chosen: OfferedResource | undefined
  choose(key: string): void
  error: string | null | undefined
}

function ResourceSelect({ resources, chosen, choose, error }: ResourceSelectProps) {
  const isOffered = resources.offered.some(({ type, id }) => type === chosen?.type && id === chosen.id)
  const offered = chosen && !isOffered ? [chosen, ...resources.offered] : resources.offered
  return (
    <Select
      label="Runs on"
      openOnFocus={false}
      placeholder="An application or a server"
      searchable
      searchValue={resources.search}
      onSearchChange={resources.setSearch}
      allowDeselect={false}
      nothingFoundMessage="No application or server found"
      data={groupsOf(offered)}
      // The API has found what matches.
      filter={({ options }) => options}
      value={chosen ? resourceKey(chosen) : null}
      onChange={(key) => key !== null && choose(key)}
      error={error}
    />
  )
}

function groupsOf(offered: readonly OfferedResource[]) {
  const ofType = (type: Resource['type']) =>
    offered.filter((one) => one.type === type).map((one) => ({ value: resourceKey(one), label: one.label }))
  return [
    { group: 'Applications', items: ofType('application') },
    { group: 'Servers', items: ofType('server') },
  ].filter(({ items }) => items.length > 0)
}
