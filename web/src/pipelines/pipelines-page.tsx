import { Title } from '@mantine/core'
import { Link } from 'wouter'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { EachEnvironment } from '../shell/place-chooser.tsx'
import { type PipelineOf, usePipelines } from './inventory.ts'
import { LastRuns } from './last-runs.tsx'
import classes from './pipelines.module.css'

export default function PipelinesPage() {
  return (
    <>
      <PageTitle title="Pipelines" />
      <div className="page-head">
        <Title order={1} size="h2">
          Pipelines
        </Title>
      </div>
      <EachEnvironment>{(environment) => <PipelinesOf environmentId={environment.id} />}</EachEnvironment>
    </>
  )
}

function PipelinesOf({ environmentId }: { environmentId: number }) {
  const { pipelines, error } = usePipelines(environmentId)
  if (error && !pipelines)
    return <Fault error={error} what="pipelines" retry={() => window.location.reload()} />
  if (!pipelines) return <Loading what="pipelines" />
  if (pipelines.length === 0) return <p className="quiet">No pipeline here yet.</p>
  return (
    <ul className={classes.cards}>
      {pipelines.map((one) => (
        <PipelineCard key={one.pipeline.id} {...one} />
      ))}
    </ul>
  )
}

function PipelineCard({ pipeline, resource }: PipelineOf) {
  return (
    <li className="card">
      <h3 className={classes.name}>
        <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>
      </h3>
      <p className={classes.about}>
        {pipeline.operation_human_readable} · {resource.name}{' '}
        <span className="quiet">
          {pipeline.steps.length} {pipeline.steps.length === 1 ? 'step' : 'steps'}
        </span>
      </p>
      <LastRuns pipelineId={pipeline.id} />
    </li>
  )
}
