import { Group } from '@mantine/core'
import type { Pipeline } from '../api/types.ts'
import { CopyAs } from '../copy-as/copy-as.tsx'
import { PipelineHooks } from '../hooks/pipeline-hooks.tsx'
import { ScopeBreadcrumbs } from '../scope/scope-breadcrumbs.tsx'
import { useEnvironment } from '../scope/tree.ts'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { PipelineMenu } from './pipeline-menu.tsx'
import classes from './pipelines.module.css'
import { usePipeline } from './pipelines.ts'
import { PlanSection } from './plan-section.tsx'
import { RecentRuns } from './recent-runs.tsx'
import { RunButtons } from './run-buttons.tsx'
import { SettingsSection } from './settings-section.tsx'
import { StepsSection } from './steps-section.tsx'

export default function PipelinePage({ id }: { id: string }) {
  return (
    <Loaded query={usePipeline(id)} what="pipeline">
      {(pipeline) => <PipelineDetails pipeline={pipeline} />}
    </Loaded>
  )
}

function PipelineDetails({ pipeline }: { pipeline: Pipeline }) {
  const { id, name, environment_id: environment, project_id: project } = pipeline
  const { data } = useEnvironment(environment)
  const scope = data && { organization: data.project.organization.id, project, environment }
  return (
    <>
      <ScopeBreadcrumbs page="/pipelines" environment={data} />
      <PageHeader title={name}>
        <Group gap="xs">
          {scope && <CopyAs resource={{ type: 'pipeline', id, name, organizationId: scope.organization }} />}
          <RunButtons pipeline={pipeline} scope={scope} />
          <PipelineMenu pipeline={pipeline} scope={scope} />
        </Group>
      </PageHeader>
      <div className={classes.columns}>
        <StepsSection pipeline={pipeline} scope={scope} />
        <div className={classes.aside}>
          <PlanSection pipeline={pipeline} />
          <SectionCard id="runs" title="Recent runs">
            <RecentRuns pipelineId={id} />
          </SectionCard>
          <PipelineHooks pipelineId={id} scope={scope} />
          <SettingsSection pipeline={pipeline} scope={scope} />
        </div>
      </div>
    </>
  )
}
