import { Button, Title } from '@mantine/core'
import { useState } from 'react'
import type { Pipeline, PipelineStep } from '../api-types.ts'
import { useMayRun } from '../session/use-may-run.ts'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { TrailTo } from '../shell/trail.tsx'
import { useEnvironment } from '../shell/tree.ts'
import { usePipeline } from './inventory.ts'
import { LastRuns } from './last-runs.tsx'
import { PipelineLink } from './pipeline-link.tsx'
import classes from './pipelines.module.css'
import { RunDialog } from './run-dialog.tsx'

export default function PipelinePage({ id }: { id: string }) {
  const { data, error, refetch } = usePipeline(id)
  if (data) return <OnePipeline pipeline={data} />
  if (error) return <Fault error={error} what="pipeline" retry={refetch} />
  return <Loading what="the pipeline" />
}

function OnePipeline({ pipeline }: { pipeline: Pipeline }) {
  const { environment_id: environmentId, project_id: projectId } = pipeline
  const { data, error } = useEnvironment(environmentId)
  // Grants hang on the organization, which not everybody may look at.
  const mayRun = useMayRun(
    data
      ? { organizationId: data.project.organization.id, projectId, environmentId }
      : error
        ? 'unknown'
        : undefined,
  )
  const [isRunning, setRunning] = useState(false)
  return (
    <>
      <PageTitle title={pipeline.name} />
      <TrailTo page="/pipelines" environmentId={environmentId} />
      <div className="page-head">
        <Title order={1} size="h2">
          {pipeline.name}
        </Title>
        {mayRun && <Button onClick={() => setRunning(true)}>Run</Button>}
      </div>
      {isRunning && <RunDialog pipeline={pipeline} close={() => setRunning(false)} />}
      <div className={classes.columns}>
        <section className="card" aria-labelledby="steps">
          <Title order={2} size="h4" id="steps">
            Steps
          </Title>
          {pipeline.steps.length === 0 ? (
            <p className="quiet">It has no step yet, so it cannot run.</p>
          ) : (
            <ol className={classes.steps}>
              {pipeline.steps.map((step) => (
                <StepItem key={step.id} step={step} />
              ))}
            </ol>
          )}
        </section>
        <div>
          <section className="card" aria-labelledby="runs">
            <Title order={2} size="h4" id="runs" mb="xs">
              Last runs
            </Title>
            <LastRuns pipelineId={pipeline.id} />
          </section>
          <section className="card" aria-labelledby="rules" style={{ marginTop: '1rem' }}>
            <Title order={2} size="h4" id="rules" mb="xs">
              Rules
            </Title>
            <Rules pipeline={pipeline} />
          </section>
        </div>
      </div>
    </>
  )
}

function StepItem({ step }: { step: PipelineStep }) {
  return (
    <li>
      <strong>{step.name}</strong> {step.built_in && <span className="quiet">built in</span>}{' '}
      {step.idempotent && <span className="quiet">may be repeated</span>}
      {step.description && <div>{step.description}</div>}
      {step.command !== null && <pre>{step.command}</pre>}
    </li>
  )
}

const POLICIES = {
  queue: 'waits for its turn',
  latest: 'waits; older waiting hook runs are skipped for newer ones',
  reject: 'is refused',
} as const

function Rules({ pipeline }: { pipeline: Pipeline }) {
  return (
    <dl className={classes.facts}>
      <dt>Kind</dt>
      <dd>{pipeline.operation_human_readable}</dd>
      <dt>At once</dt>
      <dd>{pipeline.max_parallel_actions === 0 ? 'no limit' : pipeline.max_parallel_actions}</dd>
      <dt>A run too many</dt>
      <dd>{POLICIES[pipeline.queue_policy]}</dd>
      <dt>Rollout</dt>
      <dd>
        {pipeline.rollout === null
          ? 'all servers at once'
          : `${pipeline.rollout.batch} at a time, at most ${pipeline.rollout.max_failed} may fail`}
      </dd>
      <dt>Runs after</dt>
      <dd>
        {pipeline.run_after.length === 0
          ? 'no other pipeline'
          : pipeline.run_after.map((id) => (
              <span key={id}>
                <PipelineLink id={id} />{' '}
              </span>
            ))}
      </dd>
    </dl>
  )
}
