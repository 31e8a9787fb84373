import { keepPreviousData } from '@tanstack/react-query'
import { ArrowDownToLine, ArrowUpFromLine, Webhook } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { queryKeys, usePage } from '../api/queries.ts'
import type { Hook } from '../api/types.ts'
import { usePipelineNames } from '../pipelines/pipeline-names.ts'
import { EmptyState, Loaded } from '../ui/page.tsx'
import { HookBadge } from '../ui/parts.tsx'
import { Pager, RowTable } from '../ui/table.tsx'
import classes from './hooks.module.css'

export type HookFilter = { q: string; type: Hook['type'] | undefined }

const PER_PAGE = 25
const REFETCH_INTERVAL_MS = 15_000

/** One environment of the list. */
export function EnvironmentHooks({ environmentId, filter }: { environmentId: number; filter: HookFilter }) {
  const [page, setPage] = useState(1)
  const { q, type } = filter
  const wanted = { page, per_page: PER_PAGE, ...(q && { q }), ...(type && { 'filter[type]': type }) }
  const query = usePage(queryKeys.environmentHooks(environmentId, filter, page), '/environments/{id}/hooks', {
    params: { path: { id: environmentId }, query: wanted },
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
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
    <RowTable
      label="Hooks"
      rows={hooks}
      columns={[
        ['Name', classes.name, (hook) => <HookName hook={hook} />],
        [
          'Pipeline',
          classes.pipeline,
          ({ pipeline_id: id }) => <Link href={`/pipelines/${id}`}>{names.get(id) ?? `Pipeline ${id}`}</Link>,
        ],
        ['URL', `dimmed ${classes.url}`, ({ url, target_url }) => <code>{url ?? target_url}</code>],
        ['State', classes.state, (hook) => <HookBadge hook={hook} />],
      ]}
    />
  )
}

function HookName({ hook: { id, type, name } }: { hook: Hook }) {
  const [Icon, label] = type === 'incoming' ? [ArrowDownToLine, 'Incoming'] : [ArrowUpFromLine, 'Outgoing']
  return (
    <>
      <Icon size={16} strokeWidth={1.75} role="img" aria-label={label} className={classes.icon} />
      <Link href={`/hooks/${type}/${id}`}>{name}</Link>
    </>
  )
}
