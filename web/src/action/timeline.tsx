// Targets × steps over time. Each step is a button; its bar is a picture that says nothing the button does not.
// Colours differ in brightness as well, and failed, running and skipped bars have patterns of their own.
import { useState } from 'react'
import type { Action, Step, Target } from '../api-types.ts'
import { Duration } from '../words/age.tsx'
import { useSeconds } from '../words/now.ts'
import { StatusBadge } from '../words/status.tsx'
import { hasEnded, STATUS_SIGNS, STATUS_WORDS } from '../words/statuses.ts'
import { formatDuration } from '../words/time.ts'
import classes from './action.module.css'
import type { StepChoice } from './choose-step.ts'
import { type TimeScale, timeScale } from './time-scale.ts'

const OPEN_AT_FIRST = 4

type TimelineProps = { action: Action; chosen: StepChoice | undefined; open(step: StepChoice): void }

export function Timeline({ action, chosen, open }: TimelineProps) {
  const isRunning = !hasEnded(action.status) && action.started_at !== null
  const now = useSeconds(isRunning)
  const from = Date.parse(action.started_at ?? action.created_at)
  const to = action.completed_at ? Date.parse(action.completed_at) : Math.max(now, from)
  const scale = timeScale(from, to, to)
  const [opened, setOpened] = useState<Record<number, boolean>>({})
  return (
    <div className={`card ${classes.timeline}`}>
      <Patterns />
      <Axis scale={scale} />
      {action.targets.map((target, index) => {
        const isOpen =
          opened[target.id] ??
          (index < OPEN_AT_FIRST || target.status === 'failed' || chosen?.targetId === target.id)
        return (
          <div key={target.id} className={classes.target}>
            <div className={classes.lane}>
              <button
                type="button"
                className={classes.targetName}
                aria-expanded={isOpen}
                onClick={() => setOpened({ ...opened, [target.id]: !isOpen })}
              >
                <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>{' '}
                {target.resource_data?.name ?? `#${target.resource_id}`}
              </button>
              {isOpen ? (
                <span className={classes.targetState}>
                  <StatusBadge status={target.status} reason={target.status_reason_human_readable} />
                </span>
              ) : (
                <Bars steps={target.steps} scale={scale} />
              )}
            </div>
            {isOpen && <Steps target={target} scale={scale} chosen={chosen} open={open} />}
          </div>
        )
      })}
    </div>
  )
}

type StepsProps = {
  target: Target
  scale: TimeScale
  chosen: StepChoice | undefined
  open(step: StepChoice): void
}

function Steps({ target, scale, chosen, open }: StepsProps) {
  return (
    <ol className={classes.steps}>
      {target.steps.map((step) => {
        const isChosen = chosen?.targetId === target.id && chosen.order === step.order
        return (
          <li key={step.order} className={classes.lane} data-chosen={isChosen || undefined}>
            <button
              type="button"
              className={classes.step}
              data-status={step.status}
              aria-pressed={isChosen}
              title={step.description ?? undefined}
              onClick={() => open({ targetId: target.id, order: step.order })}
            >
              <span className={classes.sign} aria-hidden="true">
                {STATUS_SIGNS[step.status]}
              </span>
              <span className={classes.stepName}>{step.name}</span>
              <span className="hidden-words">{STATUS_WORDS[step.status]}</span>
              <span className={classes.stepTime}>
                <Duration from={step.started_at} to={step.completed_at} />
              </span>
            </button>
            <Bars steps={[step]} scale={scale} />
          </li>
        )
      })}
    </ol>
  )
}

function Bars({ steps, scale }: { steps: Step[]; scale: TimeScale }) {
  return (
    <svg className={classes.bars} aria-hidden="true">
      {scale.ticks.map((tick) => (
        <line key={tick.at} x1={`${tick.at}%`} x2={`${tick.at}%`} y1="0" y2="100%" className={classes.tick} />
      ))}
      {steps.map((step) => {
        if (step.started_at === null) return null
        const { left, width } = scale.place(step.started_at, step.completed_at)
        const took =
          step.completed_at === null ? null : Date.parse(step.completed_at) - Date.parse(step.started_at)
        return (
          <rect
            key={step.order}
            className={classes.bar}
            data-status={step.status}
            x={`${left}%`}
            width={`${width}%`}
            y="20%"
            height="60%"
            rx="2"
          >
            <title>
              {step.name}: {STATUS_WORDS[step.status]}
              {took !== null && `, ${formatDuration(took)}`}
            </title>
          </rect>
        )
      })}
    </svg>
  )
}

function Axis({ scale }: { scale: TimeScale }) {
  return (
    <div className={classes.lane} aria-hidden="true">
      <span className={classes.axisLabel} />
      <div className={classes.axis}>
        {scale.ticks.map((tick) => (
          <span key={tick.at} style={{ left: `${tick.at}%` }}>
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  )
}

/** Once for the page; bars refer to them by name. */
function Patterns() {
  return (
    <svg width="0" height="0" className={classes.patterns} aria-hidden="true">
      <defs>
        <pattern
          id="hatch-failed"
          width="8"
          height="8"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="8" height="8" className={classes.failedGround} />
          <rect width="3" height="8" className={classes.failedLine} />
        </pattern>
        <pattern
          id="hatch-running"
          width="12"
          height="12"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(-45)"
        >
          <rect width="12" height="12" className={classes.runningGround} />
          <rect width="6" height="12" className={classes.runningLine} />
        </pattern>
      </defs>
    </svg>
  )
}
