import { Table } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ArrowDownToLine, ArrowUpFromLine, Webhook } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Hook } from '../api/types.ts'
import { usePipelineNames } from '../pipelines/pipeline-names.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Loaded } from '../ui/page.tsx'
import { DataTable, HookBadge, Pager } from '../ui/parts.tsx'
import classes from './hooks.module.css'

export type HookFilter = { q: string; type: Hook['type'] | undefined }

const PER_PAGE = 25
const REFETCH_INTERVAL_MS = 15_000

/** One environment of the list. */
export function EnvironmentHooks({ environmentId, filter }: { environmentId: number; filter: HookFilter }) {
  const api = useApi()
  const [page, setPage] = useState(1)
  const query = useQuery({
    queryKey: queryKeys.environmentHooks(environmentId, filter, page),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
    queryFn: ({ signal }) => {
      const { q, type } = filter
      const wanted = { page, per_page: PER_PAGE, ...(q && { q }), ...(type && { 'filter[type]': type }) }
      return api.page('/environments/{id}/hooks', {
        params: { path: { id: environmentId }, query: wanted },
        signal,
      })
    },
  })
  return (
    <Loaded query={query} what="hooks">
      {({ items, total, hasNext }) =>
        items.length === 0 && page === 1 ? (
          <NoHooks filter={filter} />
        ) : (
          <>
            <HooksTable hooks={items} />
            {(page > 1 || hasNext) && (
              <Pager label="Pages of hooks" page={page} total={total} hasNext={hasNext} go={setPage} />
            )}
          </>
        )
      }
    </Loaded>
  )
}

function NoHooks({ filter }: { filter: HookFilter }) {
  const isFiltered = filter.q !== '' || filter.type !== undefined
  if (isFiltered) return <span className="dimmed">No hook matches</span>
  return (
    <EmptyState icon={Webhook} title="No hooks yet" isCompact>
      An incoming hook starts a pipeline when a service calls its URL. An outgoing hook tells a service about
      runs.
    </EmptyState>
  )
}

function HooksTable({ hooks }: { hooks: Hook[] }) {
  const names = usePipelineNames(hooks.map(({ pipeline_id }) => pipeline_id))
  return (
    <DataTable columns={['Name', 'Pipeline', 'URL', 'State']} aria-label="Hooks">
      {hooks.map((hook) => {
        const isIncoming = hook.type === 'incoming'
        const Icon = isIncoming ? ArrowDownToLine : ArrowUpFromLine
        const label = isIncoming ? 'Incoming' : 'Outgoing'
        return (
          <Table.Tr key={hook.id}>
            <Table.Td className={classes.name}>
              <Icon size={16} strokeWidth={1.75} role="img" aria-label={label} className={classes.icon} />
              <Link href={`/hooks/${hook.type}/${hook.id}`}>{hook.name}</Link>
            </Table.Td>
            <Table.Td className={classes.pipeline}>
              <Link href={`/pipelines/${hook.pipeline_id}`}>
                {names.get(hook.pipeline_id) ?? `Pipeline ${hook.pipeline_id}`}
              </Link>
            </Table.Td>
            <Table.Td className={`dimmed ${classes.url}`}>
              <code>{isIncoming ? hook.url : hook.target_url}</code>
            </Table.Td>
            <Table.Td className={classes.state}>
              <HookBadge hook={hook} />
            </Table.Td>
          </Table.Tr>
        )
      })}
    </DataTable>
  )
}
