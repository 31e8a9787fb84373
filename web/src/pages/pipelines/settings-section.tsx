import { DataList } from '@mantine/core'
import { useState } from 'react'
import { queryKeys } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Fact, SectionCard } from '#web/base/ui/parts.tsx'
import { HEALTH_LABELS, healthText } from '#web/resources/pipelines/health-check-input.ts'
import { PipelineLink } from '#web/resources/pipelines/pipeline-link.tsx'
import { useRefreshPipeline } from '#web/resources/pipelines/pipelines.ts'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import { useDeployedApplication } from './built-in-commands.ts'
import { CHECKS_LABELS, checksText } from './checks-input.ts'
import { SettingsFields } from './settings-fields.tsx'
import {
  bodyOfSettings,
  checkSettings,
  ON_FAILURE,
  QUEUE_POLICIES,
  rolloutText,
  settingsField,
  valuesOfPipeline,
} from './settings-input.ts'

type SettingsSectionProps = { pipeline: Pipeline; scope: PermissionScope | undefined }

function HealthFact({ pipeline }: Pick<SettingsSectionProps, 'pipeline'>) {
  const inherited = useDeployedApplication(pipeline)?.health_check
  const { health_check: own } = pipeline
  return (
    <Fact label="Health check">
      {own ? healthText(own) : inherited ? `${healthText(inherited)} (from the application)` : null}
    </Fact>
  )
}

export function SettingsSection({ pipeline, scope }: SettingsSectionProps) {
  const [isEditing, setEditing] = useState(false)
  const { max_parallel_actions: limit, run_after } = pipeline
  return (
    <SectionCard id="settings" title="Settings">
      <DataList labelWidth="9rem" size="sm">
        <Fact label="Operation">{pipeline.operation_human_readable}</Fact>
        <Fact label="Max concurrent runs">{limit === 0 ? 'Unlimited' : limit}</Fact>
        <Fact label="When busy">{QUEUE_POLICIES[pipeline.queue_policy]}</Fact>
        {pipeline.operation === 'deploy' && (
          <Fact label="After a failure">{ON_FAILURE[pipeline.on_failure]}</Fact>
        )}
        <Fact label="Rollout">{rolloutText(pipeline.rollout)}</Fact>
        {pipeline.operation === 'deploy' && <HealthFact pipeline={pipeline} />}
        {pipeline.operation === 'deploy' && (
          <Fact label="Checks">{checksText(pipeline.wait_for_checks)}</Fact>
        )}
        <Fact label="Runs after">
          {run_after.length === 0
            ? 'No other pipeline'
            : run_after.map((id, index) => (
                <span key={id}>
                  {index > 0 && ', '}
                  <PipelineLink id={id} />
                </span>
              ))}
        </Fact>
      </DataList>
      <GuardedButton
        permission="pipeline:edit"
        scope={scope}
        mt="md"
        size="xs"
        variant="default"
        onClick={() => setEditing(true)}
      >
        Edit settings
      </GuardedButton>
      {isEditing && <SettingsDialog pipelineId={pipeline.id} close={() => setEditing(false)} />}
    </SectionCard>
  )
}

type SettingsDialogProps = { pipelineId: number; close(): void }

function SettingsDialog({ pipelineId, close }: SettingsDialogProps) {
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
  ...CHECKS_LABELS,
}

type SettingsFormProps = { pipeline: Pipeline; version: string | null; close(): void }

function SettingsForm({ pipeline, version, close }: SettingsFormProps) {
  const refresh = useRefreshPipeline(pipeline.id)
  const { scope } = useResourceScope(pipeline)
  const form = useRecordForm({
    id: `pipeline-${pipeline.id}`,
    initial: valuesOfPipeline(pipeline),
    version,
    validate: checkSettings,
    fields: settingsField,
    ...useStored('/pipelines/{id}', { path: { id: pipeline.id } }, valuesOfPipeline, bodyOfSettings),
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
