import { DataList, Group, Paper } from '@mantine/core'
import { Link } from 'wouter'
import type { Action, ActionRef } from '#web/base/api/types.ts'
import { CommitLink, subjectOf } from '#web/base/ui/commit-link.tsx'
import { Fact, StatusBadge } from '#web/base/ui/parts.tsx'
import { triggerLabel } from '#web/base/ui/status.ts'
import { Age, Duration } from '#web/base/ui/time.tsx'
import { PipelineLink } from '#web/resources/pipelines/pipeline-link.tsx'
import { useRunTitle } from '#web/resources/pipelines/pipeline-names.ts'
import classes from './action.module.css'

/** What people look for first, in a line: what was shipped, who started it, and how long it took. */
export function ActionSummary({ action }: { action: Action }) {
  const { commit, deployment } = action.action_data
  const ref = deployment?.source_type === 'commit' ? undefined : deployment?.source_ref
  return (
    <DataList orientation="vertical" className={classes.summary}>
      {(commit?.hash || ref) && (
        <Fact label="Commit" className={classes.commit}>
          {ref && <code>{ref}</code>}
          {ref && commit?.hash && ' @ '}
          {commit?.hash && <CommitLink {...commit} />} <bdi>{subjectOf(commit?.message)}</bdi>{' '}
          {commit?.author_name && <span className="dimmed">by {commit.author_name}</span>}
        </Fact>
      )}
      <Fact label="Triggered by">
        <TriggeredBy action={action} />
      </Fact>
      <Fact label="Duration">
        <Duration from={action.started_at} to={action.completed_at} />
      </Fact>
    </DataList>
  )
}

export function ActionDetails({ action }: { action: Action }) {
  const { release_name } = action.action_data
  const variables = Object.entries(action.triggered_from.hook_parsed_variables)
  return (
    <Paper withBorder p="md">
      <DataList orientation="vertical" className={classes.details}>
        <Fact label="Pipeline">
          <PipelineLink id={action.pipeline_id} />
        </Fact>
        <Fact label={action.resource.type === 'application' ? 'Application' : 'Server'}>
          {action.resource.data && (
            <Link href={`/${action.resource.type}s/${action.resource.id}`}>{action.resource.data.name}</Link>
          )}
        </Fact>
        <Fact label="Created">
          <Age of={action.created_at} />
        </Fact>
        <Fact label="Waited">
          <Duration from={action.created_at} to={action.started_at ?? action.completed_at} />
        </Fact>
        <Fact label="Release">{release_name && <code>{release_name}</code>}</Fact>
        <Fact label="Comment" className={classes.wide}>
          {action.trigger_comment}
        </Fact>
        <Fact label="Retry of">
          {action.retry_of && <Link href={`/actions/${action.retry_of}`}>#{action.retry_of}</Link>}
        </Fact>
        <Fact label="Runs after">{action.parent && <RelatedAction action={action.parent} />}</Fact>
        {action.children.length > 0 && (
          <Fact label="Triggers" className={classes.wide}>
            <Group gap="sm">
              {action.children.map((child) => (
                <RelatedAction key={child.id} action={child} />
              ))}
            </Group>
          </Fact>
        )}
        {variables.length > 0 && (
          <Fact label="Variables" className={classes.wide}>
            <Group gap="sm">
              {variables.map(([name, value]) => (
                <code key={name}>
                  {name} = {typeof value === 'string' ? value : JSON.stringify(value)}
                </code>
              ))}
            </Group>
          </Fact>
        )}
      </DataList>
    </Paper>
  )
}

function TriggeredBy({ action }: { action: Action }) {
  const from = action.triggered_from
  if (!from.hook_id)
    return triggerLabel(from.trigger_type, action.triggered_by_user?.name ?? from.name ?? from.email)
  return (
    <>
      <Link href={`/hooks/incoming/${from.hook_id}`}>{from.name ?? from.hook_id}</Link> (hook)
      {from.ip_address && <span className="dimmed"> from {from.ip_address}</span>}
    </>
  )
}

function RelatedAction({ action }: { action: ActionRef }) {
  return (
    <span>
      <Link href={`/actions/${action.id}`}>{useRunTitle(action.id)}</Link>{' '}
      <StatusBadge status={action.status} />
    </span>
  )
}
