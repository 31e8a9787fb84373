import type { Pipeline } from '../api/types.ts'
import { PipelineHooks } from '../hooks/pipeline-hooks.tsx'
import { useResourceScope } from '../scope/tree.ts'
import { Loaded } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { ResourceHeader } from '../ui/resource-header.tsx'
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
  const { id } = pipeline
  const { environment, scope } = useResourceScope(pipeline)
  return (
    <>
      <ResourceHeader type="pipeline" record={pipeline} environment={environment}>
        <RunButtons pipeline={pipeline} scope={scope} />
        <PipelineMenu pipeline={pipeline} scope={scope} />
      </ResourceHeader>
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
