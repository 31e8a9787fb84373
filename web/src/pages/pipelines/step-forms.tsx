import { Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Pipeline, PipelineStep } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { type RecordForm as FormState, useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { notify } from '#web/base/ui/notify.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { useRefreshPipeline } from '#web/resources/pipelines/pipelines.ts'
import classes from './pipelines.module.css'
import { STEP_LABELS, StepFields, TimeoutInput } from './step-fields.tsx'
import { bodyOfStep, checkTimeout, NEW_STEP, type StepValues, valuesOfStep } from './step-input.ts'
import { type NewPosition, triggerAfter } from './step-order.ts'

/** The form that is open: opening another one asks first if anything is unsaved. */
export type OpenedForm = { current: { leaveBy(go: () => void): void } | undefined }

export type StepFormProps = {
  opened: OpenedForm
  /** Why nothing can be saved. */
  reason: string | undefined
  close(): void
}

type Props<Values extends object> = StepFormProps & {
  title: string
  submit: string
  form: FormState<Values>
  labels?: Partial<Record<keyof Values & string, string>>
  children: ReactNode
}

/** A form in the place of its step. */
export function StepForm<Values extends object>(props: Props<Values>) {
  const { title, form, opened, close, children, ...rest } = props
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    opened.current = form
    return () => {
      opened.current = undefined
    }
  })
  useEffect(() => {
    section.current?.querySelector('input')?.focus()
    section.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <section ref={section} aria-label={title} className={classes.form}>
      <Title order={3} size="h6" mb="sm" className="wrap">
        {title}
      </Title>
      <RecordForm form={form} cancel={() => form.leaveBy(close)} {...rest}>
        {children}
      </RecordForm>
    </section>
  )
}

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

// A step is changed on top of the version that the person saw.
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
      <Dimmed>{step.description}. Every deploy has this step; only its timeout can be changed.</Dimmed>
      <TimeoutInput form={form} />
    </StepForm>
  )
}

function useStepForm<Values extends Timeout>(
  { pipelineId, step, version, close }: Pick<FormProps, 'pipelineId' | 'step' | 'version' | 'close'>,
  valuesOf: (step: PipelineStep) => Values,
  bodyOf: (values: Values) => object,
) {
  const refresh = useRefreshPipeline(pipelineId)
  const path = { id: pipelineId, step_id: step.id }
  return useRecordForm<Values, PipelineStep>({
    id: `step-${step.id}`,
    initial: valuesOf(step),
    version,
    validate: checkTimeout,
    ...useStored('/pipelines/{id}/steps/{step_id}', { path }, valuesOf, bodyOf),
    onSaved({ name }) {
      refresh()
      notify.done(`Step ${name} saved.`)
      close()
    },
  })
}
