import { Table } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { Link } from 'wouter'
import { combineQueries } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { hooksQuery } from '../pipelines/pipelines.ts'
import { useResourcePipelines } from '../pipelines/resource-pipelines.tsx'
import { Loaded } from '../ui/page.tsx'
import { DataTable, HookBadge, Section } from '../ui/parts.tsx'

/** The hooks of all pipelines of an application. */
export function ApplicationHooks({ applicationId }: { applicationId: number }) {
  const { data } = useResourcePipelines('application', applicationId)
  // Without pipelines there is nothing that a hook could trigger.
  if (!data || data.length === 0) return null
  return (
    <Section id="hooks" title="Hooks">
      <PipelineHooks pipelines={data} />
    </Section>
  )
}

function PipelineHooks({ pipelines }: { pipelines: Pipeline[] }) {
  const api = useApi()
  const query = useQueries({
    queries: pipelines.map(({ id }) => hooksQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="hooks">
      {(lists) => {
        const rows = lists.flatMap((hooks, index) =>
          hooks.map((hook) => ({ hook, pipeline: pipelines[index]! })),
        )
        if (rows.length === 0) return <span className="dimmed">No hooks yet</span>
        return (
          <DataTable columns={['Name', 'Direction', 'Pipeline', 'State']} aria-label="Hooks">
            {rows.map(({ hook, pipeline }) => (
              <Table.Tr key={hook.id}>
                <Table.Td className="wrap name-cell">
                  <Link href={`/hooks/${hook.type}/${hook.id}`}>{hook.name}</Link>
                </Table.Td>
                <Table.Td className="dimmed">
                  {hook.type === 'incoming' ? 'Incoming: starts runs' : 'Outgoing: reports runs'}
                </Table.Td>
                <Table.Td className="wrap dimmed">{pipeline.name}</Table.Td>
                <Table.Td>
                  <HookBadge hook={hook} />
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )
      }}
    </Loaded>
  )
}
