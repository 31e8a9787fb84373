import { useApi } from '../api/services.ts'
import type { Pipeline, PipelineStep } from '../api/types.ts'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { STEP_LABELS, StepFields } from './step-fields.tsx'
import { StepForm, type StepFormProps } from './step-form.tsx'
import { bodyOfStep, checkTimeout, NEW_STEP, type StepValues } from './step-input.ts'
import { type NewPosition, triggerAfter } from './step-order.ts'
import { useRefreshPipeline } from './use-pipeline-changes.ts'

type AddStepFormProps = StepFormProps & {
  pipeline: Pipeline
  position: NewPosition
  /** A copy of another step. */
  values?: StepValues | undefined
}

export function AddStepForm({ pipeline, position, values = NEW_STEP, ...rest }: AddStepFormProps) {
  const api = useApi()
  const refresh = useRefreshPipeline(pipeline.id)
  const form = useRecordForm<StepValues, PipelineStep>({
    id: `step-new-${pipeline.id}`,
    initial: values,
    validate: checkTimeout,
    save(entered) {
      const after = triggerAfter(position)
      return api.post('/pipelines/{id}/steps', {
        params: { path: { id: pipeline.id } },
        body: { ...bodyOfStep(entered), ...(after !== undefined && { trigger_after: after }) },
      })
    },
    onSaved(step) {
      refresh()
      notify.done(`Step ${step.name} added.`)
      rest.close()
    },
  })
  return (
    <StepForm {...rest} form={form} title="New step" submit="Add step" labels={STEP_LABELS}>
      <StepFields form={form} />
    </StepForm>
  )
}
