// The pipelines and the recent runs of one application or server, as sections of its page.
import { Table } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Workflow } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { LatestRun } from '../scope/latest-run.tsx'
import type { PermissionScope } from '../session/permissions.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { Loaded } from '../ui/page.tsx'
import { DataTable, Section, StatusBadge } from '../ui/parts.tsx'
import { plural, triggerLabel } from '../ui/status.ts'
import { Age, Duration } from '../ui/time.tsx'
import { AddPipelineDialog } from './add-pipeline-dialog.tsx'
import { type PipelineRun, useResourceRuns } from './resource-runs.ts'

export function useResourcePipelines(type: 'application' | 'server', id: number) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.pipelines(type, id),
    queryFn: ({ signal }) =>
      api.all(`/pipelines/${type}/{resource_id}`, { params: { path: { resource_id: id } }, signal }),
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
  const runs = useResourceRuns(query.data)
  const add = (
    <GuardedButton variant="default" permission="pipeline:add" scope={scope} onClick={() => setAdding(true)}>
      Add pipeline
    </GuardedButton>
  )
  return (
    <>
      <Section id="pipelines" title="Pipelines">
        <Loaded query={query} what="pipelines">
          {(pipelines) =>
            pipelines.length === 0 ? (
              <EmptyState icon={Workflow} title="No pipelines yet" action={add}>
                A pipeline is the list of steps that run on each server.
              </EmptyState>
            ) : (
              <DataTable columns={['Name', 'Operation', 'Steps', 'Last run']} aria-label="Pipelines">
                {pipelines.map((pipeline) => (
                  <Row key={pipeline.id} pipeline={pipeline} run={runs.data?.latest.get(pipeline.id)} />
                ))}
              </DataTable>
            )
          }
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
      {query.data && query.data.length > 0 && (
        <Section id="runs" title="Recent runs">
          <Loaded query={runs} what="runs">
            {({ recent }) => <Runs runs={recent} />}
          </Loaded>
        </Section>
      )}
    </>
  )
}

function Row({ pipeline, run }: { pipeline: Pipeline; run: PipelineRun['action'] | undefined }) {
  return (
    <Table.Tr>
      <Table.Td className="wrap name-cell">
        <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>
      </Table.Td>
      <Table.Td className="dimmed">{pipeline.operation_human_readable}</Table.Td>
      <Table.Td className="numeric dimmed">{plural(pipeline.steps.length, 'step')}</Table.Td>
      <Table.Td className="status-cell">
        <LatestRun run={run} />
      </Table.Td>
    </Table.Tr>
  )
}

function Runs({ runs }: { runs: PipelineRun[] }) {
  if (runs.length === 0) return <span className="dimmed">No runs yet</span>
  return (
    <DataTable columns={['Run', 'Status', 'Started by', 'Duration', 'When']} aria-label="Recent runs">
      {runs.map(({ action, pipeline }) => (
        <Table.Tr key={action.id}>
          <Table.Td className="wrap name-cell">
            <Link href={`/actions/${action.id}`}>
              {pipeline.name} #{action.id}
            </Link>
          </Table.Td>
          <Table.Td className="status-cell">
            <StatusBadge status={action.status} />
          </Table.Td>
          <Table.Td className="wrap dimmed status-cell">
            {triggerLabel(action.triggered_from.trigger_type, action.triggered_from.name)}
          </Table.Td>
          <Table.Td className="dimmed">
            <Duration from={action.started_at} to={action.completed_at} />
          </Table.Td>
          <Table.Td className="numeric dimmed">
            <Age of={action.created_at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  )
}
