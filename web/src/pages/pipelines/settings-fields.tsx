import { Group, MultiSelect, NativeSelect, NumberInput, TextInput } from '@mantine/core'
import { OPERATIONS } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { HealthCheckFields } from '#web/resources/pipelines/health-check-fields.tsx'
import { healthText } from '#web/resources/pipelines/health-check-input.ts'
import { operationsOf, type Resource } from '#web/resources/pipelines/new-pipeline.ts'
import { useDeployedApplication } from './built-in-commands.ts'
import { ChecksFields } from './checks-fields.tsx'
import { ON_FAILURE, QUEUE_POLICIES, ROLLOUT_ON_FAILURE, type SettingsValues } from './settings-input.ts'

type SettingsFieldsProps = { form: RecordForm<SettingsValues>; pipeline: Pipeline }

export function SettingsFields({ form, pipeline }: SettingsFieldsProps) {
  const operations = operationsOf(pipeline.resource_type as Resource['type'])
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.field('name')} />
      <Group gap="md" align="start" grow>
        <NumberInput
          label="Max concurrent runs"
          description="0 means unlimited."
          min={0}
          max={10_000}
          clampBehavior="none"
          {...form.field('max_parallel_actions')}
        />
        <NativeSelect
          label="When busy"
          description="When the limit is reached."
          data={options(QUEUE_POLICIES)}
          {...form.field('queue_policy')}
        />
      </Group>
      {form.values.operation === 'deploy' && (
        <NativeSelect
          label="When a deploy fails after activation"
          description="Never reverts once an irreversible step has completed."
          data={options(ON_FAILURE)}
          {...form.field('on_failure')}
        />
      )}
      <RolloutFields form={form} />
      {form.values.operation === 'deploy' && <HealthField form={form} pipeline={pipeline} />}
      {form.values.operation === 'deploy' && <ChecksFields form={form} />}
      <RunAfterField form={form} pipeline={pipeline} />
      <NativeSelect
        label="Operation"
        description="Fixed once the pipeline has runs or hooks."
        data={operations.map((value) => ({ value, label: OPERATIONS[value] }))}
        {...form.field('operation')}
      />
    </>
  )
}

/** Names the check that applies without one of the pipeline. */
function HealthField({ form, pipeline }: SettingsFieldsProps) {
  const inherited = useDeployedApplication(pipeline)?.health_check
  const none = inherited ? `As the application: ${healthText(inherited)}` : 'As the application: no check'
  return <HealthCheckFields form={form} none={none} />
}

function RolloutFields({ form }: Pick<SettingsFieldsProps, 'form'>) {
  return (
    <>
      <NativeSelect
        label="Rollout"
        data={[
          { value: 'all', label: 'All servers at the same time' },
          { value: 'batches', label: 'In batches, one after another' },
        ]}
        {...form.field('rollout')}
      />
      {form.values.rollout === 'batches' && (
        <Group gap="md" align="start" grow>
          <TextInput
            label="Batch size"
            description="Servers, or a share such as 25%."
            {...form.field('batch')}
          />
          <NumberInput
            label="Failures allowed"
            description="Stops the rollout beyond this."
            min={0}
            max={10_000}
            clampBehavior="none"
            {...form.field('max_failed')}
          />
        </Group>
      )}
      {form.values.rollout === 'batches' && hasReleases(form.values) && (
        <NativeSelect
          label="When too many fail"
          data={options(ROLLOUT_ON_FAILURE)}
          {...form.field('rollout_on_failure')}
        />
      )}
    </>
  )
}

/** Pipelines of the same environment. One that is chosen but not listed keeps its id as its name. */
function RunAfterField({ form, pipeline }: SettingsFieldsProps) {
  const query = { within: `environment:${pipeline.environment_id}`, type: 'pipeline', per_page: 100 }
  const key = queryKeys.environmentPipelines(pipeline.environment_id, 'names')
  const { data = [] } = useGet(key, '/names', { params: { query } })
  const known = data.filter(({ id }) => id !== pipeline.id)
  const listed = new Set(known.map(({ id }) => String(id)))
  return (
    <MultiSelect
      label="Run after (optional)"
      description="A completed run of any of these starts this pipeline."
      placeholder={form.values.run_after.length === 0 ? 'No other pipeline' : undefined}
      searchable
      hidePickedOptions
      nothingFoundMessage="No other pipeline in this environment"
      data={[
        ...known.map(({ id, name }) => ({ value: String(id), label: name })),
        ...form.values.run_after
          .filter((id) => !listed.has(id))
          .map((id) => ({ value: id, label: `#${id}` })),
      ]}
      {...form.field('run_after')}
    />
  )
}

function hasReleases({ operation, on_failure }: SettingsValues): boolean {
  return operation === 'deploy' && on_failure === 'revert'
}

function options(labels: Readonly<Record<string, string>>) {
  return Object.entries(labels).map(([value, label]) => ({ value, label }))
}
