import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { GantryError } from '#client/index.ts'
import { queryKeys, useApi, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { ErrorAlert, Loaded, Loading } from '#web/base/ui/page.tsx'
import { Dimmed, SectionCard } from '#web/base/ui/parts.tsx'
import { HookBadge } from '#web/resources/hooks/hook-badge.tsx'
import { hooksQuery, usePipeline, usePlan } from '#web/resources/pipelines/pipelines.ts'
import { Plan } from '#web/resources/runs/run-plan.tsx'
import { ResourceHeader } from '#web/shared/resource-header.tsx'
import { useResourceScope } from '#web/shared/scope/tree.ts'
import { PipelineMenu, RunButtons } from './pipeline-actions.tsx'
import classes from './pipelines.module.css'
import { RecentRuns } from './recent-runs.tsx'
import { SettingsSection } from './settings-section.tsx'
import { StepDurations } from './step-durations.tsx'
import { StepsSection } from './steps-section.tsx'

export default function PipelinePage({ id }: { id: string }) {
  return (
    <Loaded query={usePipeline(id)} what="pipeline">
      {(pipeline) => <PipelineDetails pipeline={pipeline} />}
    </Loaded>
  )
}

function PipelineDetails({ pipeline }: { pipeline: Pipeline }) {
  const { id, resource_name } = pipeline
  const { environment, scope } = useResourceScope(pipeline)
  return (
    <>
      <ResourceHeader
        type="pipeline"
        record={pipeline}
        environment={environment}
        parents={
          resource_name === null
            ? []
            : [{ href: `/${pipeline.resource_type}s/${pipeline.resource_id}`, name: resource_name }]
        }
      >
        <RunButtons pipeline={pipeline} scope={scope} />
        <PipelineMenu pipeline={pipeline} scope={scope} />
      </ResourceHeader>
      <div className={classes.columns}>
        <StepsSection pipeline={pipeline} scope={scope} />
        <div className={classes.aside}>
          <PlanSection pipeline={pipeline} />
          <SectionCard id="runs" title="Recent runs">
            <RecentRuns pipelineId={id} scope={scope} />
          </SectionCard>
          <PipelineHooks pipelineId={id} scope={scope} />
          <SettingsSection pipeline={pipeline} scope={scope} />
        </div>
      </div>
      <StepDurations pipelineId={id} />
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

type PipelineHooksProps = { pipelineId: number; scope: PermissionScope | undefined }

/** The hooks of a pipeline, on its page. A new one is for this pipeline. */
function PipelineHooks({ pipelineId, scope }: PipelineHooksProps) {
  const [, navigate] = useLocation()
  const query = useQuery(hooksQuery(useApi(), pipelineId))
  return (
    <SectionCard id="hooks" title="Hooks">
      <Loaded query={query} what="hooks">
        {(hooks) =>
          hooks.length === 0 ? (
            <Dimmed>No hooks yet</Dimmed>
          ) : (
            <ul className="plain-list">
              {hooks.map((hook) => (
                <li key={hook.id} className={classes.hook}>
                  <Link href={`/hooks/${hook.type}/${hook.id}`}>{hook.name}</Link>
                  <HookBadge hook={hook} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <GuardedButton
        permission="hook:add"
        scope={scope}
        size="xs"
        mt="sm"
        variant="default"
        icon={Plus}
        onClick={() => navigate(`/hooks/new?pipeline=${pipelineId}`)}
      >
        Add hook
      </GuardedButton>
    </SectionCard>
  )
}
