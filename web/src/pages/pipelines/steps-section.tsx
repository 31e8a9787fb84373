import { Paper, VisuallyHidden } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { ListPlus, Plus } from 'lucide-react'
import { Fragment, type ReactNode, useEffect, useRef, useState } from 'react'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Pipeline, PipelineStep } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { EmptyState } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { useRefreshPipeline } from '#web/resources/pipelines/pipelines.ts'
import { useBuiltInCommands } from './built-in-commands.ts'
import classes from './pipelines.module.css'
import { SortableSteps } from './sortable-steps.tsx'
import { AddStepForm, ChangeStepForm } from './step-forms.tsx'
import { copyOf } from './step-input.ts'
import { StepMenu } from './step-menu.tsx'
import { indexOfNew } from './step-order.ts'
import { StepRow } from './step-row.tsx'
import { useMoveStep } from './use-move-step.ts'
import { useOpenForm } from './use-open-form.ts'

type StepsSectionProps = { pipeline: Pipeline; scope: PermissionScope | undefined }

/** The steps in their order, and the form of the one that is being edited or added. */
export function StepsSection({ pipeline, scope }: StepsSectionProps) {
  const { id: pipelineId, steps } = pipeline
  const list = useRef<HTMLDivElement>(null)
  const { form, opened, open, close } = useOpenForm(list)
  const { move, announcement } = useMoveStep(pipeline)
  const [removing, setRemoving] = useState<PipelineStep>()
  const commands = useBuiltInCommands(pipeline)
  const { allowed, reason } = usePermission('pipeline:edit', scope)
  useFocusAfterChange(list, steps.length)

  const shared = { opened, close, reason: allowed ? undefined : reason }
  const openedId = form?.kind === 'change' ? form.id : undefined
  const change = openedId !== undefined && (
    <li data-step={openedId}>
      <ChangeStepForm key={openedId} {...shared} pipelineId={pipelineId} id={openedId} />
    </li>
  )
  const copied = form?.kind === 'add' ? steps.find(({ id }) => id === form.copyOf) : undefined
  const add = form?.kind === 'add' && (
    <li>
      <AddStepForm
        key={`${form.position}-${form.copyOf}`}
        {...shared}
        pipeline={pipeline}
        position={form.position}
        values={copied && copyOf(copied, steps)}
      />
    </li>
  )
  const newIndex = form?.kind === 'add' ? indexOfNew(steps, form.position) : undefined
  const isRemoved = !steps.some(({ id }) => id === openedId)
  const addLast = () => open({ kind: 'add', position: 'last', copyOf: undefined })

  return (
    <Section id="steps" title="Steps">
      <div ref={list}>
        {steps.length === 0 && !form ? (
          <NoSteps>
            <AddButton scope={scope} add={addLast} isFilled />
          </NoSteps>
        ) : (
          <Paper withBorder>
            <SortableSteps steps={steps} openedId={openedId} move={move}>
              <ol className={`plain-list ${classes.steps}`}>
                {steps.map((step, index) => (
                  <Fragment key={step.id}>
                    {index === newIndex && add}
                    {step.id === openedId ? (
                      change
                    ) : (
                      <StepRow
                        step={step}
                        command={step.command ?? commands[step.name] ?? null}
                        canMove={allowed && !step.built_in && steps.length > 1}
                      >
                        <StepMenu {...{ step, steps, scope, open, move, remove: setRemoving }} />
                      </StepRow>
                    )}
                  </Fragment>
                ))}
                {newIndex === steps.length && add}
                {/* Removed meanwhile: what was typed can still be copied. */}
                {isRemoved && change}
              </ol>
            </SortableSteps>
            {form?.kind !== 'add' && (
              <div className={classes.footer}>
                <AddButton scope={scope} add={addLast} />
              </div>
            )}
          </Paper>
        )}
      </div>
      <VisuallyHidden role="status">{announcement}</VisuallyHidden>
      {removing && (
        <RemoveStepDialog pipelineId={pipelineId} step={removing} close={() => setRemoving(undefined)} />
      )}
    </Section>
  )
}

type AddButtonProps = { scope: PermissionScope | undefined; add(): void; isFilled?: boolean }

function AddButton({ scope, add, isFilled = false }: AddButtonProps) {
  return (
    <GuardedButton
      permission="pipeline:edit"
      scope={scope}
      size={isFilled ? 'sm' : 'compact-sm'}
      variant={isFilled ? 'filled' : 'subtle'}
      icon={Plus}
      onClick={add}
      data-add
    >
      Add step
    </GuardedButton>
  )
}

function NoSteps({ children }: { children: ReactNode }) {
  return (
    <EmptyState icon={ListPlus} title="No steps yet" action={children}>
      A step is a command that runs on each server. This pipeline can run once it has one.
    </EmptyState>
  )
}

/** The button that removed a step is gone with it, and so is the one that added the first step. */
function useFocusAfterChange(list: { current: HTMLElement | null }, count: number): void {
  const before = useRef(count)
  useEffect(() => {
    const isGone = count < before.current || before.current === 0
    if (isGone && document.activeElement === document.body)
      list.current?.querySelector<HTMLElement>('[data-add]')?.focus({ preventScroll: true })
    before.current = count
  }, [list, count])
}

type RemoveStepDialogProps = { pipelineId: number; step: PipelineStep; close(): void }

function RemoveStepDialog({ pipelineId, step, close }: RemoveStepDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const refresh = useRefreshPipeline(pipelineId)
  const path = { id: pipelineId, step_id: step.id }
  return (
    <RemoveDialog
      what="step"
      name={step.name}
      remove={() => api.delete('/pipelines/{id}/steps/{step_id}', { params: { path } })}
      onRemoved={() => {
        queries.setQueryData<Pipeline>(
          queryKeys.pipeline(pipelineId),
          (before) => before && { ...before, steps: before.steps.filter(({ id }) => id !== step.id) },
        )
        refresh()
      }}
      close={close}
    >
      Runs that have already started are not affected. This cannot be undone.
    </RemoveDialog>
  )
}
