import { Button, Group, Paper, Title } from '@mantine/core'
import { CircleCheck } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import classes from './first-run.module.css'

type StepCardProps = {
  number: number
  title: string
  state: 'done' | 'current' | 'later'
  /** What was decided, once it is done. */
  summary?: ReactNode
  /** Opens it again. */
  change?: (() => void) | undefined
  children: ReactNode
}

/** One step of a guided flow: open while it is the current one, a single line otherwise. */
export function StepCard({ number, title, state, summary, change, children }: StepCardProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const wasCurrent = useRef(state === 'current')
  useEffect(() => {
    // The next step takes the focus when it opens, not when the page does.
    if (state === 'current' && !wasCurrent.current) heading.current?.focus()
    wasCurrent.current = state === 'current'
  }, [state])
  return (
    <Paper component="li" withBorder p="md" className={classes.step} data-state={state}>
      <Group gap="sm" wrap="nowrap">
        <span className={classes.number} aria-hidden="true">
          {state === 'done' ? <CircleCheck size={20} /> : number}
        </span>
        <div className={classes.text}>
          <Title
            order={2}
            size="h5"
            ref={heading}
            tabIndex={-1}
            aria-current={state === 'current' ? 'step' : undefined}
          >
            {title}
          </Title>
          {state === 'done' && <div className="dimmed wrap">{summary}</div>}
        </div>
        {state === 'done' && change && (
          <Button size="compact-sm" variant="default" onClick={change} aria-label={`Change: ${title}`}>
            Change
          </Button>
        )}
      </Group>
      {state === 'current' && <div className={classes.body}>{children}</div>}
    </Paper>
  )
}
