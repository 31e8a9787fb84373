import { Text } from '@mantine/core'
import { GantryError } from '#client/index.ts'
import { queryKeys, useRefetchOnActionEvents } from '../api/queries.ts'
import type { Pipeline } from '../api/types.ts'
import { PipelineHooks } from '../hooks/pipeline-hooks.tsx'
import { useResourceScope } from '../scope/tree.ts'
import { ErrorAlert, Loaded, Loading } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { ResourceHeader } from '../ui/resource-header.tsx'
import classes from './pipelines.module.css'
import { usePipeline, usePlan } from './pipelines.ts'
import { RecentRuns } from './recent-runs.tsx'
import { PipelineMenu, RunButtons } from './run-buttons.tsx'
import { Plan } from './run-plan.tsx'
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

const REFETCH_MS = 5_000

/** What a run would do now. It is planned again after each change, and when runs start or end. */
function PlanSection({ pipeline }: { pipeline: Pipeline }) {
  const { data, error } = usePlan(pipeline.id, {})
  useRefetchOnActionEvents(queryKeys.plan(pipeline.id), REFETCH_MS)
  const cannotRun = error instanceof GantryError && error.status === 409
  return (
    <SectionCard id="plan" title="Plan">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <div aria-live="polite" className={classes.plan} tabIndex={0}>
        {cannotRun ? (
          <Text size="sm">Cannot run yet. {error.message}</Text>
        ) : error ? (
          <ErrorAlert error={error} />
        ) : data ? (
          <Plan pipeline={pipeline} plan={data} />
        ) : (
          <Loading what="plan" />
        )}
      </div>
    </SectionCard>
  )
}
