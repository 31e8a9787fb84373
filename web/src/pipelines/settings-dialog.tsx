import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { useResourceScope } from '../scope/tree.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { HEALTH_LABELS } from './health-check-input.ts'
import { SettingsFields } from './settings-fields.tsx'
import { bodyOfSettings, checkSettings, settingsField, valuesOfPipeline } from './settings-input.ts'
import { ifMatchHeader, useStoredVersion } from './stored-version.ts'
import { useRefreshPipeline } from './use-pipeline-changes.ts'

type SettingsDialogProps = { pipelineId: number; close(): void }

export function SettingsDialog({ pipelineId, close }: SettingsDialogProps) {
  const query = useVersioned(queryKeys.pipeline(pipelineId), '/pipelines/{id}', {
    params: { path: { id: pipelineId } },
  })
  return (
    <Loaded query={query} what="pipeline">
      {({ record, version }) => <SettingsForm pipeline={record} version={version} close={close} />}
    </Loaded>
  )
}

const LABELS = {
  max_parallel_actions: 'Max concurrent runs',
  queue_policy: 'When busy',
  batch: 'Batch size',
  ...HEALTH_LABELS,
}

type SettingsFormProps = { pipeline: Pipeline; version: string | null; close(): void }

function SettingsForm({ pipeline, version, close }: SettingsFormProps) {
  const api = useApi()
  const refresh = useRefreshPipeline(pipeline.id)
  const { scope } = useResourceScope(pipeline)
  const path = { id: pipeline.id }
  const shown = { values: valuesOfPipeline(pipeline), version }
  const stored = useStoredVersion(shown, async () => {
    const { data, etag } = await api.getVersioned('/pipelines/{id}', { params: { path } })
    return { values: valuesOfPipeline(data), version: etag }
  })
  const form = useRecordForm({
    id: `pipeline-${pipeline.id}`,
    initial: shown.values,
    version,
    validate: checkSettings,
    fields: settingsField,
    save: (values, ifMatch) =>
      stored.save(ifMatch, (header) =>
        api.put('/pipelines/{id}', {
          params: { path, header: ifMatchHeader(header) },
          body: bodyOfSettings(values),
        }),
      ),
    reload: stored.reload,
    onSaved({ name }) {
      refresh()
      notify.done(`Pipeline ${name} saved.`)
      close()
    },
  })
  return (
    <FormDialog
      title="Pipeline settings"
      submit="Save changes"
      form={form}
      needs={{ permission: 'pipeline:edit', scope }}
      close={close}
      labels={LABELS}
    >
      <SettingsFields form={form} pipeline={pipeline} />
    </FormDialog>
  )
}
