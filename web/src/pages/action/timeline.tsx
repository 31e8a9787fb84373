// Targets × steps over time. Each step is a button; its bar shows nothing that the button does not say. Colors differ
// in brightness as well, and failed, running and skipped bars have their own patterns.
import { Paper, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import { hasEnded, STATUSES } from '#client/index.ts'
import type { Action, Step, Target } from '#web/base/api/types.ts'
import { formatDuration } from '#web/base/ui/format.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { STATUS_ICONS } from '#web/base/ui/status.ts'
import { Duration, useSeconds } from '#web/base/ui/time.tsx'
import classes from './action.module.css'
import { type StepRef, serverName } from './steps.ts'
import { type TimeScale, timeScale } from './time-scale.ts'

/** Targets after these start collapsed. */
const MAX_EXPANDED = 4

type Selection = { selected: StepRef | undefined; select(step: StepRef): void }

export function Timeline({ action, selected, select }: Selection & { action: Action }) {
  const now = useSeconds(!hasEnded(action.status) && action.started_at !== null)
  const from = Date.parse(action.started_at ?? action.created_at)
  const to = action.completed_at ? Date.parse(action.completed_at) : Math.max(now, from)
  const scale = timeScale(from, to, to)
  const [expanded, setExpanded] = useState<Record<number, boolean>>({})
  return (
    <Paper withBorder className={classes.timeline}>
      <Patterns />
      <div className={classes.row} aria-hidden="true">
        <span />
        <div className={`dimmed ${classes.axis}`}>
          {scale.ticks.map((tick) => (
            <span key={tick.at} style={{ left: `${tick.at}%` }}>
              {tick.label}
            </span>
          ))}
        </div>
      </div>
      {action.targets.map((target, index) => {
        const isExpanded =
          expanded[target.id] ??
          (index < MAX_EXPANDED || target.status === 'failed' || selected?.targetId === target.id)
        return (
          <div key={target.id} className={classes.target}>
            <div className={classes.row}>
              <UnstyledButton
                className={classes.button}
                fw={600}
                aria-expanded={isExpanded}
                onClick={() => setExpanded({ ...expanded, [target.id]: !isExpanded })}
              >
                <span aria-hidden="true">{isExpanded ? '▾' : '▸'}</span> {serverName(target)}
              </UnstyledButton>
              {isExpanded ? (
                <StatusBadge status={target.status} label={target.status_reason_human_readable} />
              ) : (
                <Bars steps={target.steps} scale={scale} />
              )}
            </div>
            {isExpanded && <Steps target={target} scale={scale} selected={selected} select={select} />}
          </div>
        )
      })}
    </Paper>
  )
}

function Steps({ target, scale, selected, select }: Selection & { target: Target; scale: TimeScale }) {
  return (
    <ol className="plain-list">
      {target.steps.map((step) => {
        const isSelected = selected?.targetId === target.id && selected.order === step.order
        return (
          <li key={step.order} className={classes.row} data-selected={isSelected || undefined}>
            <UnstyledButton
              className={classes.button}
              pl="lg"
              fz="sm"
              data-status={step.status}
              aria-pressed={isSelected}
              title={step.description ?? undefined}
              onClick={() => select({ targetId: target.id, order: step.order })}
            >
              <span className={classes.icon} aria-hidden="true">
                {STATUS_ICONS[step.status]}
              </span>
              <span className={classes.stepName}>{step.name}</span>
              <VisuallyHidden>{STATUSES[step.status]}</VisuallyHidden>
              <Duration from={step.started_at} to={step.completed_at} />
            </UnstyledButton>
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
      {scale.ticks.map(({ at }) => (
        <line key={at} x1={`${at}%`} x2={`${at}%`} y1="0" y2="100%" />
      ))}
      {steps.map((step) => {
        if (step.started_at === null) return null
        const { left, width } = scale.span(step.started_at, step.completed_at)
        const ms = step.completed_at && Date.parse(step.completed_at) - Date.parse(step.started_at)
        return (
          <rect
            key={step.order}
            data-status={step.status}
            x={`${left}%`}
            width={`${width}%`}
            y="20%"
            height="60%"
            rx="2"
          >
            <title>
              {step.name}: {STATUSES[step.status]}
              {typeof ms === 'number' && `, ${formatDuration(ms)}`}
            </title>
          </rect>
        )
      })}
    </svg>
  )
}

/** Rendered once; bars refer to them by id. */
function Patterns() {
  return (
    <svg width="0" height="0" className={classes.patterns} aria-hidden="true">
      <defs>
        <Hatch status="failed" size={8} stripe={3} angle={45} />
        <Hatch status="in-progress" size={12} stripe={6} angle={-45} />
      </defs>
    </svg>
  )
}

type HatchProps = { status: string; size: number; stripe: number; angle: number }

function Hatch({ status, size, stripe, angle }: HatchProps) {
  return (
    <pattern
      id={`hatch-${status}`}
      data-status={status}
      className={classes.hatch}
      width={size}
      height={size}
      patternUnits="userSpaceOnUse"
      patternTransform={`rotate(${angle})`}
    >
      <rect width={size} height={size} fillOpacity="0.7" />
      <rect width={stripe} height={size} />
    </pattern>
  )
}
