// The pipelines and the recent runs of one application or server, as sections of its page.
import { useQuery } from '@tanstack/react-query'
import { Workflow } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useAll, useApi, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { ActionListItem, Pipeline } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { Section, StatusBadge } from '#web/base/ui/parts.tsx'
import { deployKind, plural, triggerLabel } from '#web/base/ui/status.ts'
import { type Column, RowTable } from '#web/base/ui/table.tsx'
import { Age, Duration } from '#web/base/ui/time.tsx'
import { LatestRun, NoRuns } from '#web/shared/scope/latest-run.tsx'
import { AddPipelineDialog } from './add-pipeline-dialog.tsx'
import { runTitle } from './pipeline-names.ts'

export function useResourcePipelines(type: 'application' | 'server', id: number) {
  return useAll(queryKeys.pipelines(type, id), `/pipelines/${type}/{resource_id}`, {
    params: { path: { resource_id: id } },
  })
}

type ResourcePipelinesProps = {
  type: 'application' | 'server'
  id: number
  environmentId: number
  scope: PermissionScope | undefined
}

export function ResourcePipelines({ type, id, environmentId, scope }: ResourcePipelinesProps) {
  const [isAdding, setAdding] = useState(false)
  const query = useResourcePipelines(type, id)
  const runs = useResourceRuns(query.data, type === 'server' ? { environmentId, serverId: id } : undefined)
  const add = (
    <GuardedButton variant="default" permission="pipeline:add" scope={scope} onClick={() => setAdding(true)}>
      Add pipeline
    </GuardedButton>
  )
  return (
    <>
      <Section id="pipelines" title="Pipelines">
        <Loaded query={query} what="pipelines">
          {(pipelines) => (
            <RowTable
              label="Pipelines"
              rows={pipelines}
              columns={[
                ['Name', 'wrap name-cell', (one) => <Link href={`/pipelines/${one.id}`}>{one.name}</Link>],
                ['Operation', 'dimmed', (one) => one.operation_human_readable],
                ['Steps', 'numeric dimmed', (one) => plural(one.steps.length, 'step')],
                [
                  'Last run',
                  'status-cell',
                  (one) => <LatestRun run={runs.data?.latest.get(one.id)} scope={scope} />,
                ],
              ]}
              empty={
                <EmptyState icon={Workflow} title="No pipelines yet" action={add}>
                  A pipeline is the list of steps that run on each server.
                </EmptyState>
              }
            />
          )}
        </Loaded>
        {query.data && query.data.length > 0 && <div className="below-table">{add}</div>}
      </Section>
      {isAdding && (
        <AddPipelineDialog
          within={`environment:${environmentId}`}
          resource={{ type, id }}
          close={() => setAdding(false)}
        />
      )}
      {((query.data && query.data.length > 0) || (runs.data && runs.data.recent.length > 0)) && (
        <Section id="runs" title="Recent runs">
          <Loaded query={runs} what="runs">
            {({ recent }) => (
              <RowTable
                label="Recent runs"
                rows={recent}
                columns={RUN_COLUMNS}
                empty={<NoRuns scope={scope} />}
              />
            )}
          </Loaded>
        </Section>
      )}
    </>
  )
}

const RUN_COLUMNS: Column<PipelineRun>[] = [
  [
    'Run',
    'wrap name-cell',
    ({ id, pipeline, action }) => (
      <Link href={`/actions/${id}`}>{runTitle(pipeline.name, id, deployKind(action))}</Link>
    ),
  ],
  ['Status', 'status-cell', ({ action }) => <StatusBadge status={action.status} />],
  [
    'Started by',
    'wrap dimmed status-cell',
    ({ action: { triggered_from: from } }) => triggerLabel(from.trigger_type, from.name),
  ],
  ['Duration', 'dimmed', ({ action }) => <Duration from={action.started_at} to={action.completed_at} />],
  ['When', 'numeric dimmed', ({ action }) => <Age of={action.created_at} />],
]

// The newest runs of the pipelines of one application or server.
const REFETCH_INTERVAL_MS = 2_000
const SHOWN = 8
/** A request for each: those of a resource with more pipelines are incomplete. */
const MAX_PIPELINES = 12

/** Runs of other resources that had the server as a target are found among this many of the environment. */
const LOOKED_AT = 100

type PipelineRun = { id: number; action: ActionListItem; pipeline: { id: number; name: string | undefined } }
type AsTarget = { environmentId: number; serverId: number }

/** Newest first, with the newest run of each pipeline by its id. */
function useResourceRuns(pipelines: readonly Pipeline[] | undefined, asTarget: AsTarget | undefined) {
  const api = useApi()
  useRefetchOnActionEvents(queryKeys.resourceRuns(), REFETCH_INTERVAL_MS)
  return useQuery({
    queryKey: queryKeys.resourceRuns([...(pipelines ?? []).map(({ id }) => id), asTarget?.serverId ?? 0]),
    enabled: pipelines !== undefined,
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(
        (pipelines ?? []).slice(0, MAX_PIPELINES).map(async (pipeline): Promise<PipelineRun[]> => {
          const query = { 'filter[pipeline_id]': String(pipeline.id), per_page: SHOWN }
          const actions = await api.get('/actions', { params: { query }, signal })
          return actions.map((action) => ({ id: action.id, action, pipeline }))
        }),
      )
      const latest = new Map(lists.flatMap(([run]) => (run ? [[run.pipeline.id, run.action] as const] : [])))
      const own = new Set(pipelines?.map(({ id }) => id))
      const others = asTarget
        ? (await readTargetRuns(api, asTarget, signal)).filter(({ pipeline }) => !own.has(pipeline.id))
        : []
      const recent = [...lists.flat(), ...others].sort((one, other) => other.action.id - one.action.id)
      return { latest, recent: recent.slice(0, SHOWN) }
    },
  })
}

/** Runs that had this server as a target: deploys of its applications, above all. */
async function readTargetRuns(api: Api, { environmentId, serverId }: AsTarget, signal: AbortSignal) {
  const query = {
    'filter[environment_id]': String(environmentId),
    include: 'pipeline_id' as const,
    per_page: LOOKED_AT,
  }
  const actions = (await api.get('/actions', { params: { query }, signal }))
    .filter(({ targets }) => targets.some(({ resource_id }) => resource_id === serverId))
    .slice(0, SHOWN)
  const ids = [...new Set(actions.map(({ pipeline_id }) => pipeline_id!))]
  const names =
    ids.length === 0
      ? []
      : await api.get('/names', { params: { query: { type: 'pipeline', 'filter[id]': ids.join() } }, signal })
  return actions.map((action): PipelineRun => {
    const id = action.pipeline_id!
    return { id: action.id, action, pipeline: { id, name: names.find((one) => Number(one.id) === id)?.name } }
  })
}
