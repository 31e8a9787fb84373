import { Code, DataList, Group, List, Stack } from '@mantine/core'
import type { Pipeline, PipelineStep } from '../api/types.ts'
import { ScopeBreadcrumbs } from '../scope/scope-breadcrumbs.tsx'
import { useEnvironment } from '../scope/tree.ts'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { Fact, SectionCard } from '../ui/parts.tsx'
import { PipelineLink } from './pipeline-link.tsx'
import { usePipeline } from './pipelines.ts'
import { RecentRuns } from './recent-runs.tsx'
import { RunButtons } from './run-buttons.tsx'

export default function PipelinePage({ id }: { id: string }) {
  return (
    <Loaded query={usePipeline(id)} what="pipeline">
      {(pipeline) => <PipelineDetails pipeline={pipeline} />}
    </Loaded>
  )
}

function PipelineDetails({ pipeline }: { pipeline: Pipeline }) {
  const { environment_id: environment, project_id: project } = pipeline
  const { data } = useEnvironment(environment)
  const scope = data && { organization: data.project.organization.id, project, environment }
  return (
    <>
      <ScopeBreadcrumbs page="/pipelines" environment={data} />
      <PageHeader title={pipeline.name}>
        <Group gap="xs">
          <RunButtons pipeline={pipeline} scope={scope} />
        </Group>
      </PageHeader>
      <div className="columns">
        <SectionCard id="steps" title="Steps">
          {pipeline.steps.length === 0 ? (
            <span className="dimmed">No steps yet: this pipeline cannot run.</span>
          ) : (
            <List type="ordered" spacing="xs">
              {pipeline.steps.map((step) => (
                <StepItem key={step.id} step={step} />
              ))}
            </List>
          )}
        </SectionCard>
        <Stack gap="sm">
          <SectionCard id="runs" title="Recent runs">
            <RecentRuns pipelineId={pipeline.id} />
          </SectionCard>
          <SectionCard id="settings" title="Settings">
            <Settings pipeline={pipeline} />
          </SectionCard>
        </Stack>
      </div>
    </>
  )
}

function StepItem({ step }: { step: PipelineStep }) {
  return (
    <List.Item className="wrap">
      <strong>{step.name}</strong> {step.built_in && <span className="dimmed">built-in</span>}{' '}
      {step.idempotent && <span className="dimmed">idempotent</span>}
      {step.description && <div>{step.description}</div>}
      {step.command !== null && (
        <Code block mah="12rem" tabIndex={0}>
          {step.command}
        </Code>
      )}
    </List.Item>
  )
}

const QUEUE_POLICIES = {
  queue: 'queue',
  latest: 'queue, and skip older queued hook runs',
  reject: 'reject',
} as const

function Settings({ pipeline }: { pipeline: Pipeline }) {
  const { max_parallel_actions: limit, rollout, run_after } = pipeline
  return (
    <DataList labelWidth="10rem">
      <Fact label="Operation">{pipeline.operation_human_readable}</Fact>
      <Fact label="Max concurrent runs">{limit === 0 ? 'unlimited' : limit}</Fact>
      <Fact label="When busy">{QUEUE_POLICIES[pipeline.queue_policy]}</Fact>
      <Fact label="Rollout">
        {rollout === null
          ? 'all servers at once'
          : `batches of ${rollout.batch}, at most ${rollout.max_failed} may fail`}
      </Fact>
      <Fact label="Runs after">
        {run_after.length === 0
          ? 'no other pipeline'
          : run_after.map((id, index) => (
              <span key={id}>
                {index > 0 && ', '}
                <PipelineLink id={id} />
              </span>
            ))}
      </Fact>
    </DataList>
  )
}
