// What a run would do, and what it would wait for, before it starts.
import { Alert, Button, List, Paper, Stack, Text } from '@mantine/core'
import { ArrowDown } from 'lucide-react'
import type { ReactNode, Ref } from 'react'
import { Link } from 'wouter'
import type { Pipeline, RunPlan } from '#web/base/api/types.ts'
import { DialogFooter } from '#web/base/ui/dialog.tsx'
import { ICON } from '#web/base/ui/icon.ts'
import { ErrorAlert, Loading } from '#web/base/ui/page.tsx'
import { plural } from '#web/base/ui/status.ts'
import { useBlockers } from './blockers.ts'
import { gatesText } from './gates-text.ts'
import classes from './run.module.css'
import { type Shipping, WhatShips } from './what-ships.tsx'

type RunFormProps = {
  pipeline: Pipeline
  plan: { data: RunPlan | undefined }
  /** Of a deploy. */
  shipping?: Shipping
  /** The request that starts it. */
  run: { isPending: boolean; error: Error | null; reset(): void }
  /** What no input shows. */
  error: Error | null
  /** The text of the button. */
  button: string
  isDisabled?: boolean
  submit(): void
  close(): void
  /** The inputs. */
  children: ReactNode
  ref?: Ref<HTMLFormElement>
}

/** The inputs of a run, beside what it would do with them. */
export function RunForm(props: RunFormProps) {
  const { pipeline, plan, shipping, run, error, button, isDisabled, submit, close, children, ref } = props
  return (
    <form
      ref={ref}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onChange={() => run.reset()}
    >
      <div className={classes.columns}>
        <Stack gap="sm">{children}</Stack>
        <Paper
          component="section"
          withBorder
          p="md"
          className={classes.plan}
          aria-label="Plan"
          aria-live="polite"
        >
          {error && !run.error ? (
            <ErrorAlert error={error} />
          ) : plan.data ? (
            <Plan pipeline={pipeline} plan={plan.data}>
              {shipping && <WhatShips shipping={shipping} />}
            </Plan>
          ) : (
            <Loading what="plan" />
          )}
        </Paper>
      </div>
      {run.error && error && <ErrorAlert error={error} />}
      <DialogFooter close={close} mt="md">
        <Button type="submit" loading={run.isPending} disabled={isDisabled}>
          {button}
        </Button>
      </DialogFooter>
    </form>
  )
}

type PlanProps = { pipeline: Pipeline; plan: RunPlan; children?: ReactNode }

/** `children` follow the source. */
export function Plan({ pipeline, plan, children }: PlanProps) {
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
      {children}
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
  const closed = plan.gates.filter(({ state }) => state === 'closed')
  if (closed.length > 0)
    return (
      <Alert color="yellow" variant="light" p="xs" mb="sm" className={classes.wait}>
        {gatesText(closed)}
      </Alert>
    )
  const what = plan.would_wait === 'WAITING_CONCURRENCY_TARGET' ? 'on the server' : 'of this pipeline'
  const isRejected = plan.would_wait === 'WAITING_CONCURRENCY_PIPELINE' && pipeline.queue_policy === 'reject'
  return (
    <Alert color="yellow" variant="light" p="xs" mb="sm" className={classes.wait}>
      {isRejected ? 'Will be rejected until these finish: ' : 'Will queue behind '}
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
