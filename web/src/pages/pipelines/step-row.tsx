import { useSortable } from '@dnd-kit/sortable'
import { ActionIcon, Badge, VisuallyHidden } from '@mantine/core'
import { GripVertical, Lock } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { PipelineStep } from '#web/base/api/types.ts'
import { formatDuration } from '#web/base/ui/format.ts'
import { plural } from '#web/base/ui/status.ts'
import classes from './pipelines.module.css'
import { DEFAULT_TIMEOUT_SECONDS, previewOf } from './step-input.ts'

type StepRowProps = {
  step: PipelineStep
  /** What a built-in step runs, as the application says. */
  command: string | null
  canMove: boolean
  /** Its buttons. */
  children: ReactNode
}

/** One step as it is saved. Built-in steps stay where they are; others move between them. */
export function StepRow({ step, command, canMove, children }: StepRowProps) {
  const sortable = useSortable({ id: step.id, disabled: { draggable: !canMove } })
  const { transform, transition, isDragging } = sortable
  const style = transform ? { transform: `translateY(${transform.y}px)`, transition } : undefined
  return (
    <li
      ref={sortable.setNodeRef}
      className={classes.step}
      style={style}
      data-step={step.id}
      data-dragging={isDragging || undefined}
    >
      <div className={classes.handle}>
        {canMove ? (
          <ActionIcon
            ref={sortable.setActivatorNodeRef}
            variant="subtle"
            color="gray"
            className={classes.grip}
            {...sortable.attributes}
            {...sortable.listeners}
            aria-label={`Reorder ${step.name}`}
          >
            <GripVertical size={16} strokeWidth={1.75} aria-hidden="true" />
          </ActionIcon>
        ) : (
          step.built_in && <Lock size={14} strokeWidth={1.75} aria-hidden="true" className="dimmed" />
        )}
      </div>
      <span className={classes.order}>{step.order}</span>
      <div className={classes.text}>
        <div className={classes.name}>
          <strong>{step.name}</strong>
          {step.built_in && (
            <Badge variant="default" size="sm" tt="none" fw={500}>
              Built-in
            </Badge>
          )}
        </div>
        <Details step={step} />
      </div>
      <div className={classes.buttons}>{children}</div>
      {command !== null && <Command text={command} name={step.name} />}
    </li>
  )
}

function Details({ step }: { step: PipelineStep }) {
  const { description, timeout_seconds: timeout, run_as_user: user, built_in } = step
  const { idempotent, irreversible, run_on_revert } = step
  const facts = [
    timeout !== DEFAULT_TIMEOUT_SECONDS && `timeout ${formatDuration(timeout * 1_000)}`,
    user !== null && `runs as ${user}`,
    idempotent && !built_in && 'can run again',
    irreversible && 'cannot be undone',
    run_on_revert && 'runs again on revert',
  ].filter(Boolean)
  const text = [description, facts.join(' · ')].filter(Boolean)
  if (text.length === 0) return null
  return <div className={classes.details}>{text.join(' · ')}</div>
}

function Command({ text, name }: { text: string; name: string }) {
  const [isWhole, setWhole] = useState(false)
  const preview = previewOf(text)
  return (
    <div className={classes.command}>
      <pre>{isWhole ? text : preview.text}</pre>
      {preview.isCut && (
        <button
          type="button"
          className={classes.toggle}
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole
            ? 'Show less'
            : preview.hidden === 0
              ? 'Show all'
              : `Show ${plural(preview.hidden, 'more line')}`}
          <VisuallyHidden> of {name}</VisuallyHidden>
        </button>
      )}
    </div>
  )
}
