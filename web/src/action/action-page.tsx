// The page that `url_web_permalink` leads to: what ran, how far it came, why it failed, and who was told.
import { Title } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import type { Action } from '../api-types.ts'
import { LogView } from '../log/log-view.tsx'
import { type ListenToLogs, useStepLog } from '../log/use-step-log.ts'
import { useMayRun } from '../session/use-may-run.ts'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { Trail } from '../shell/trail.tsx'
import { StatusBadge } from '../words/status.tsx'
import classes from './action.module.css'
import { ActionFacts } from './action-facts.tsx'
import { chooseStep, findStep, type StepChoice } from './choose-step.ts'
import { logFileName } from './log-file-name.ts'
import { reasonInWords } from './reasons.ts'
import { RunControls } from './run-controls.tsx'
import { Timeline } from './timeline.tsx'
import { useAction } from './use-action.ts'
import { WasItTold } from './was-it-told.tsx'

export default function ActionPage({ id }: { id: string }) {
  const { query, listenToLogs } = useAction(id)
  if (query.data) return <OneAction action={query.data} listenToLogs={listenToLogs} />
  if (query.error) return <Fault error={query.error} what="action" retry={query.refetch} />
  return <Loading what="the action" />
}

function OneAction({ action, listenToLogs }: { action: Action; listenToLogs: ListenToLogs }) {
  const name = `${action.type_human_readable} ${action.resource.data?.name ?? ''} #${action.id}`
  const mayRun = useMayRun({
    organizationId: action.organization.id,
    projectId: action.project.id,
    environmentId: action.environment.id,
  })
  const [search, setSearch] = useSearchParams()
  const [isFollowing, setFollowing] = useState(!search.has('step'))
  const choice = chooseStep(action.targets, isFollowing ? null : search.get('step'))

  function open(step: StepChoice): void {
    setFollowing(false)
    setSearch(
      (before) => {
        const after = new URLSearchParams(before)
        after.set('step', `${step.targetId}.${step.order}`)
        return after
      },
      { replace: true },
    )
  }

  return (
    <>
      <PageTitle title={name} status={action.status} />
      <Trail page="/actions" {...action} />
      <div className="page-head">
        <div className={classes.heading}>
          <Title order={1} size="h2">
            {name}
          </Title>
          <span role="status">
            <StatusBadge status={action.status} reason={action.status_reason_human_readable} />
          </span>
        </div>
        {mayRun && <RunControls action={action} />}
      </div>
      <p className={classes.reason}>{reasonInWords(action)}</p>
      <ActionFacts action={action} />
      <section className={classes.section} aria-labelledby="timeline">
        <Title order={2} size="h4" id="timeline">
          Targets and steps
        </Title>
        <Timeline action={action} chosen={choice} open={open} />
      </section>
      {choice && <StepLog action={action} choice={choice} listenToLogs={listenToLogs} />}
      <WasItTold action={action} />
    </>
  )
}

type StepLogProps = { action: Action; choice: StepChoice; listenToLogs: ListenToLogs }

function StepLog({ action, choice, listenToLogs }: StepLogProps) {
  const found = findStep(action.targets, choice)
  const isRunning = found?.step.status === 'in-progress'
  const log = useStepLog({ actionId: action.id, ...choice }, isRunning, listenToLogs)
  if (!found) return null
  const { step, target } = found
  const server = target.resource_data?.name ?? `#${target.resource_id}`
  return (
    <section className={classes.section} aria-labelledby="log" id="step-log">
      <div className={classes.logHead}>
        <Title order={2} size="h4" id="log">
          {step.name} on {server}
        </Title>
        <StatusBadge status={step.status} reason={step.status_reason_human_readable} />
      </div>
      {step.description && <p className="quiet">{step.description}</p>}
      <LogView
        key={`${choice.targetId}.${choice.order}`}
        log={log}
        isRunning={isRunning}
        name={`${step.name} on ${server}`}
        fileName={logFileName(action.id, step.name, server)}
      />
    </section>
  )
}
