import { Paper, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { plural } from '../ui/status.ts'
import { type ResourcePipeline, usePipelines } from './pipelines.ts'
import { RecentRuns } from './recent-runs.tsx'

export default function PipelinesPage() {
  return (
    <>
      <PageHeader title="Pipelines" />
      <EachEnvironment>{({ id }) => <EnvironmentPipelines environmentId={id} />}</EachEnvironment>
    </>
  )
}

function EnvironmentPipelines({ environmentId }: { environmentId: number }) {
  return (
    <Loaded query={usePipelines(environmentId)} what="pipelines">
      {(pipelines) =>
        pipelines.length === 0 ? (
          <span className="dimmed">No pipelines yet</span>
        ) : (
          <ul className="plain-list cards">
            {pipelines.map((one) => (
              <PipelineCard key={one.pipeline.id} {...one} />
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}

function PipelineCard({ pipeline, resource }: ResourcePipeline) {
  return (
    <Paper component="li" withBorder p="md">
      <Title order={3} size="h5" className="wrap">
        <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>
      </Title>
      <Text mb="xs" size="sm">
        {pipeline.operation_human_readable} · {resource.name}{' '}
        <span className="dimmed">{plural(pipeline.steps.length, 'step')}</span>
      </Text>
      <RecentRuns pipelineId={pipeline.id} />
    </Paper>
  )
}
