// What a run would do, and what it would wait for, before it starts.
import { Alert, List, Paper, Text } from '@mantine/core'
import { ArrowDown } from 'lucide-react'
import { Link } from 'wouter'
import type { Pipeline, RunPlan } from '../api/types.ts'
import { ICON } from '../ui/icon.ts'
import { ErrorAlert, Loading } from '../ui/page.tsx'
import { plural } from '../ui/status.ts'
import { useBlockers } from './blockers.ts'
import classes from './run.module.css'

type RunPlanPanelProps = { pipeline: Pipeline; plan: RunPlan | undefined; error: Error | null }

export function RunPlanPanel({ pipeline, plan, error }: RunPlanPanelProps) {
  return (
    <Paper
      component="section"
      withBorder
      p="md"
      className={classes.plan}
      aria-label="Plan"
      aria-live="polite"
    >
      {error ? (
        <ErrorAlert error={error} />
      ) : plan ? (
        <Plan pipeline={pipeline} plan={plan} />
      ) : (
        <Loading what="plan" />
      )}
    </Paper>
  )
}

export function Plan({ pipeline, plan }: { pipeline: Pipeline; plan: RunPlan }) {
  const { targets, variables } = plan
  const batches = [...Map.groupBy(targets, ({ batch }) => batch).values()]
  const steps = targets[0]?.steps ?? []
  const names = Object.keys(variables)
  return (
    <>
      <WouldWait pipeline={pipeline} plan={plan} />
      <Text fw={600} size="sm">
        {plural(targets.length, 'server')}
        {batches.length > 1 && ` in ${batches.length} batches`}, {plural(steps.length, 'step')} each
      </Text>
      {plan.rollback ? <RollbackSummary rollback={plan.rollback} /> : <Source plan={plan} />}
      {batches.map((batch, index) => (
        <Text key={batch[0]!.batch} size="sm" className="dimmed wrap">
          {batches.length > 1 && `${index + 1}. `}
          {batch.map((target) => target.resource_data.name).join(', ')}
        </Text>
      ))}
      <List type="ordered" size="sm" mt="xs" className="wrap">
        {steps.map((step) => (
          <List.Item key={step.order}>{step.name}</List.Item>
        ))}
      </List>
      {names.length > 0 && (
        <Text size="sm" mt="xs" className="wrap">
          Variables: <code>{names.join(', ')}</code>
        </Text>
      )}
    </>
  )
}

function Source({ plan: { source } }: { plan: RunPlan }) {
  if (!source?.source_ref) return null
  const commit = source.commit_hash?.slice(0, 8)
  return (
    <Text size="sm" className="wrap">
      {source.type === 'redeploy' ? 'Redeploys' : 'Deploys'} {source.source_type}{' '}
      <code>{source.source_type === 'commit' ? source.source_ref.slice(0, 12) : source.source_ref}</code>
      {commit && source.source_type !== 'commit' && (
        <>
          {' '}
          at <code>{commit}</code>
        </>
      )}
    </Text>
  )
}

function WouldWait({ pipeline, plan }: { pipeline: Pipeline; plan: RunPlan }) {
  const blockers = useBlockers({
    environmentId: pipeline.environment_id,
    pipelineId: pipeline.id,
    serverIds: plan.targets.filter(({ batch }) => batch === 1).map(({ resource_id }) => resource_id),
    reason: plan.would_wait,
  })
  if (plan.would_wait === null) return null
  if (plan.would_wait === 'WAITING_WORKER')
    return (
      <Alert color="yellow" variant="light" p="xs" mb="sm" className={classes.wait}>
        Will wait: no worker that is online can run it
      </Alert>
    )
  const what = plan.would_wait === 'WAITING_CONCURRENCY_TARGET' ? 'on the server' : 'of this pipeline'
  return (
    <Alert color="yellow" variant="light" p="xs" mb="sm" className={classes.wait}>
      Will queue behind{' '}
      {blockers.length === 0
        ? `earlier runs ${what}`
        : blockers.map((id, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <Link href={`/actions/${id}`} target="_blank" rel="noreferrer">
                #{id}
              </Link>
            </span>
          ))}
    </Alert>
  )
}

type Rollback = NonNullable<RunPlan['rollback']>

/** From which release to which. */
function RollbackSummary({ rollback: { from, to } }: { rollback: Rollback }) {
  return (
    <>
      {from ? (
        <Release word="From" release={from} />
      ) : (
        <Text size="sm">From whatever is live on each server</Text>
      )}
      <ArrowDown {...ICON} />
      <Release word="To" release={to} />
    </>
  )
}

function Release({ word, release }: { word: string; release: Rollback['to'] }) {
  const { release_name, commit_hash, commit_message, action_id } = release
  return (
    <Text size="sm" className="wrap" component="div">
      {word} <code>{release_name}</code>
      {action_id !== null && (
        <>
          {' '}
          <Link href={`/actions/${action_id}`} target="_blank" rel="noreferrer">
            #{action_id}
          </Link>
        </>
      )}
      <div className="dimmed">
        {commit_hash && <code>{commit_hash.slice(0, 8)}</code>}{' '}
        {commit_message?.split('\n')[0]?.slice(0, 200)}
      </div>
    </Text>
  )
}
