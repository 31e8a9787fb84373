// A step is changed on top of the version that the person saw.
import { Text } from '@mantine/core'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { PipelineStep } from '../api/types.ts'
import { type Stored, useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { STEP_LABELS, StepFields, TimeoutInput } from './step-fields.tsx'
import { StepForm, type StepFormProps } from './step-form.tsx'
import { bodyOfStep, checkTimeout, type StepValues, valuesOfStep } from './step-input.ts'
import { ifMatchHeader, useStoredVersion } from './stored-version.ts'
import { useRefreshPipeline } from './use-pipeline-changes.ts'

type ChangeStepFormProps = StepFormProps & { pipelineId: number; id: number }

export function ChangeStepForm({ pipelineId, id, ...rest }: ChangeStepFormProps) {
  const path = { id: pipelineId, step_id: id }
  const query = useVersioned(queryKeys.step(pipelineId, id), '/pipelines/{id}/steps/{step_id}', {
    params: { path },
  })
  return (
    <Loaded query={query} what="step">
      {({ record, version }) => {
        const shown = { step: record, version, pipelineId }
        return record.built_in ? <BuiltInForm {...rest} {...shown} /> : <CustomForm {...rest} {...shown} />
      }}
    </Loaded>
  )
}

type FormProps = StepFormProps & { pipelineId: number; step: PipelineStep; version: string | null }

function CustomForm({ pipelineId, step, version, ...rest }: FormProps) {
  const form = useStepForm({ pipelineId, step, version, close: rest.close }, valuesOfStep, bodyOfStep)
  return (
    <StepForm {...rest} form={form} title={`Edit ${step.name}`} submit="Save changes" labels={STEP_LABELS}>
      <StepFields form={form} />
    </StepForm>
  )
}

type Timeout = Pick<StepValues, 'timeout_seconds'>

function BuiltInForm({ pipelineId, step, version, ...rest }: FormProps) {
  const form = useStepForm(
    { pipelineId, step, version, close: rest.close },
    ({ timeout_seconds }): Timeout => ({ timeout_seconds }),
    ({ timeout_seconds }) => ({ timeout_seconds: Number(timeout_seconds) }),
  )
  return (
    <StepForm {...rest} form={form} title={`Edit ${step.name}`} submit="Save changes" labels={STEP_LABELS}>
      <Text size="sm" className="dimmed">
        {step.description}. Every deploy has this step; only its timeout can be changed.
      </Text>
      <TimeoutInput form={form} />
    </StepForm>
  )
}

function useStepForm<Values extends Timeout>(
  { pipelineId, step, version, close }: Pick<FormProps, 'pipelineId' | 'step' | 'version' | 'close'>,
  valuesOf: (step: PipelineStep) => Values,
  bodyOf: (values: Values) => object,
) {
  const api = useApi()
  const refresh = useRefreshPipeline(pipelineId)
  const path = { id: pipelineId, step_id: step.id }
  const shown: Stored<Values> = { values: valuesOf(step), version }
  const stored = useStoredVersion(shown, async () => {
    const { data, etag } = await api.getVersioned('/pipelines/{id}/steps/{step_id}', { params: { path } })
    return { values: valuesOf(data), version: etag }
  })
  return useRecordForm<Values, PipelineStep>({
    id: `step-${step.id}`,
    initial: shown.values,
    version,
    validate: checkTimeout,
    save: (values, ifMatch) =>
      stored.save(ifMatch, (header) =>
        api.put('/pipelines/{id}/steps/{step_id}', {
          params: { path, header: ifMatchHeader(header) },
          body: bodyOf(values),
        }),
      ),
    reload: stored.reload,
    onSaved({ name }) {
      refresh()
      notify.done(`Step ${name} saved.`)
      close()
    },
  })
}
