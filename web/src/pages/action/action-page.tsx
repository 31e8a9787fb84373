// The page that `url_web_permalink` leads to: what ran, how far it got, why it failed, and who was notified.
import { Group, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { hasEnded } from '#client/index.ts'
import type { Action } from '#web/base/api/types.ts'
import { logFileName } from '#web/base/ui/format.ts'
import { Loaded, Loading, PageHeader } from '#web/base/ui/page.tsx'
import { Section, StatusBadge } from '#web/base/ui/parts.tsx'
import { deployKind } from '#web/base/ui/status.ts'
import { Pending, Together } from '#web/base/ui/together.tsx'
import { runTitle, usePipelineNames, usePipelineNamesQuery } from '#web/resources/pipelines/pipeline-names.ts'
import { useBlockers } from '#web/resources/runs/blockers.ts'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import { logLinkHash } from '#web/shared/log/log-link.ts'
import { LogView } from '#web/shared/log/log-view.tsx'
import { useLogLink } from '#web/shared/log/use-log-link.ts'
import { type SubscribeToLogs, useStepLog } from '#web/shared/log/use-step-log.ts'
import { useSearch } from '#web/shared/scope/scope.ts'
import { ScopeBreadcrumbs } from '#web/shared/scope/scope-breadcrumbs.tsx'
import classes from './action.module.css'
import { ActionDetails, ActionSummary } from './action-details.tsx'
import { ChangesSection } from './changes-section.tsx'
import { GatesSection } from './gates-section.tsx'
import { NotificationsSection } from './notifications-section.tsx'
import { RunControls } from './run-controls.tsx'
import { findStep, type StepRef, selectStep, serverName, stateSummary } from './steps.ts'
import { Timeline } from './timeline.tsx'
import { useAction } from './use-action.ts'
import { useGates } from './use-gates.ts'

export default function ActionPage({ id }: { id: string }) {
  const { query, subscribeToLogs } = useAction(id)
  return (
    <Loaded query={query} what="action">
      {(action) => <NamedAction action={action} subscribeToLogs={subscribeToLogs} />}
    </Loaded>
  )
}

type ActionProps = { action: Action; subscribeToLogs: SubscribeToLogs }

/** A longer title, and gates, would move everything below them. */
function NamedAction(props: ActionProps) {
  const names = usePipelineNamesQuery([props.action.pipeline_id])
  const gates = useGates(props.action)
  const isLoading = names.isLoading || gates.isLoading
  return isLoading ? <Loading what="action" /> : <LoadedAction {...props} />
}

function LoadedAction({ action, subscribeToLogs }: ActionProps) {
  const [search, update] = useSearch()
  const [isFollowing, setFollowing] = useState(!search.has('step'))
  const [link] = useLogLink()
  const wanted = link ? stepParam(link) : isFollowing ? null : search.get('step')
  // People who watch a run to its end keep the last step in view.
  const [hadEnded] = useState(hasEnded(action.status))
  const selected = selectStep(action.targets, wanted, { hasEnded: hadEnded })

  function select(step: StepRef): void {
    setFollowing(false)
    update({ step: stepParam(step) }, true)
  }

  return (
    <>
      <ScopeBreadcrumbs page="/actions" environment={action.environment} parents={resourceParents(action)} />
      <PageHeader
        title={useTitle(action)}
        status={action.status}
        badge={
          <span role="status">
            <StatusBadge status={action.status} label={action.status_reason_human_readable} />
          </span>
        }
      >
        <Group gap="xs">
          <CopyAs
            command={`gantry actions show ${action.id}`}
            curl={{ method: 'GET', path: `/actions/${action.id}` }}
          />
          <RunControls action={action} />
        </Group>
      </PageHeader>
      <StateText action={action} />
      <ActionSummary action={action} />
      <GatesSection action={action} />
      <div className={classes.split}>
        <Section id="timeline" title="Targets and steps">
          <Timeline action={action} selected={selected} select={select} />
        </Section>
        {selected && (
          <StepLog
            key={stepParam(selected)}
            action={action}
            selected={selected}
            subscribeToLogs={subscribeToLogs}
          />
        )}
      </div>
      <Together what="details">
        <Section id="details" title="Details">
          <ActionDetails action={action} />
        </Section>
        <ChangesSection action={action} />
        <NotificationsSection action={action} />
      </Together>
    </>
  )
}

/** The application or server that it runs on, where the person may see it. */
function resourceParents({ resource: { type, id, data } }: Action) {
  return data ? [{ href: `/${type}s/${id}`, name: data.name }] : []
}

function stepParam({ targetId, order }: StepRef): string {
  return `${targetId}.${order}`
}

/** By the name of its pipeline, where the person may see it. */
function useTitle(action: Action): string {
  const { id, pipeline_id } = action
  return runTitle(usePipelineNames([pipeline_id]).get(pipeline_id), id, deployKind(action))
}

function StepLog({ action, selected, subscribeToLogs }: ActionProps & { selected: StepRef }) {
  const found = findStep(action.targets, selected)
  const isRunning = found?.step.status === 'in-progress'
  const log = useStepLog({ actionId: action.id, ...selected }, isRunning, subscribeToLogs)
  const [link, setLink] = useLogLink()
  if (!found) return null
  const { step, target } = found
  const server = serverName(target)
  const title = (
    <Group component="span" gap="xs">
      {step.name} on {server}
      <StatusBadge status={step.status} label={step.status_reason_human_readable} />
    </Group>
  )
  return (
    <Section id="log" title={title}>
      {log.isLoading && <Pending />}
      {step.description && (
        <Text className="dimmed" mb="xs">
          {step.description}
        </Text>
      )}
      <LogView
        log={log}
        step={step}
        name={`${step.name} on ${server}`}
        fileName={logFileName(action.id, step.name, server)}
        marked={link && stepParam(link) === stepParam(selected) ? link : undefined}
        mark={(range) => setLink(range && { ...selected, ...range })}
        hashOf={(range) => logLinkHash({ ...selected, ...range })}
      />
    </Section>
  )
}

/** Why the run is in its status; while it waits, with links to the runs that it waits for. */
function StateText({ action }: { action: Action }) {
  const blockers = useBlockers({
    environmentId: action.environment.id,
    pipelineId: action.pipeline_id,
    serverIds: action.targets.map((target) => target.resource_id),
    reason: action.status === 'waiting' ? action.status_reason_code : null,
  })
  return (
    <Text mb="xs" className="wrap">
      {stateSummary(action)}
      {blockers.length > 0 && (
        <>
          {' '}
          Running now:{' '}
          {blockers.map((id, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <Link href={`/actions/${id}`}>#{id}</Link>
            </span>
          ))}
          .
        </>
      )}
    </Text>
  )
}
