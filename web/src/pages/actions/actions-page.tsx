import { Button, Kbd, NativeSelect, Table, Text } from '@mantine/core'
import { Activity, ShieldAlert } from 'lucide-react'
import { type CSSProperties, memo, type RefObject, useCallback, useEffect, useMemo, useRef } from 'react'
import { Link } from 'wouter'
import { useAnyPermission } from '#web/base/session/permissions.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { TableFrame } from '#web/base/ui/table.tsx'
import { Age, Duration } from '#web/base/ui/time.tsx'
import { usePipelineNames } from '#web/resources/pipelines/pipeline-names.ts'
import { scopeSearch, type UpdateSearch, useScope, useSearch } from '#web/shared/scope/scope.ts'
import { StartHere, useFirstStep } from '#web/shared/scope/start-here.tsx'
import classes from './actions.module.css'
import { FilterBar } from './filter-bar.tsx'
import { isFiltered, NO_FILTERS, PAGE_SIZES, readFilters } from './filters.ts'
import { groupRows, type Row } from './rows.ts'
import { useRows } from './use-rows.ts'

export default function ActionsPage() {
  const [search, update] = useSearch()
  const filters = useMemo(() => readFilters(search), [search])
  const filterBar = useRef<HTMLFieldSetElement>(null)
  const list = useRef<HTMLTableElement>(null)
  useListKeys(list, () => filterBar.current?.querySelector('select')?.focus())
  // Other filters, other pages.
  const query = useRows(filters)
  const names = usePipelineNames(query.data?.rows.map(({ pipelineId }) => pipelineId) ?? [])
  const filter: UpdateSearch = useCallback((values) => update({ page: '', ...values }), [update])
  return (
    <>
      <PageHeader title="Actions">
        <Text size="sm" className={`dimmed ${classes.keys}`}>
          <Kbd>j</Kbd> <Kbd>k</Kbd> move, <Kbd>Enter</Kbd> opens, <Kbd>/</Kbd> filters
        </Text>
      </PageHeader>
      <FilterBar ref={filterBar} filters={filters} change={filter} />
      <Loaded query={query} what="actions">
        {({ rows, total, hasNext }) => (
          <>
            {rows.length === 0 ? (
              <Empty isFiltered={isFiltered(filters)} clear={() => filter(NO_FILTERS)} />
            ) : (
              <ActionTable ref={list} rows={rows} names={names} />
            )}
            <Pager
              label="Pages of actions"
              page={filters.page}
              total={total || String(rows.length)}
              hasNext={hasNext}
              go={(page) => update({ page: page === 1 ? '' : page })}
            >
              <NativeSelect
                size="xs"
                aria-label="Rows per page"
                value={String(filters.perPage)}
                onChange={({ currentTarget: { value } }) => filter({ per_page: value === '25' ? '' : value })}
                data={PAGE_SIZES.map((size) => ({ value: String(size), label: `${size} rows` }))}
              />
            </Pager>
          </>
        )}
      </Loaded>
    </>
  )
}

type ActionTableProps = {
  rows: Row[]
  names: ReadonlyMap<number, string>
  ref: RefObject<HTMLTableElement | null>
}

function ActionTable({ rows, names, ref }: ActionTableProps) {
  return (
    <TableFrame>
      <Table ref={ref} horizontalSpacing="sm" className={classes.table} aria-label="Actions, newest first">
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        {groupRows(rows).map(([group, members]) => (
          <tbody key={group} className={classes.group} style={{ '--rows': members.length } as CSSProperties}>
            {members.map((row) => (
              <ActionRow key={row.id} row={row} pipelineName={names.get(row.pipelineId)} />
            ))}
          </tbody>
        ))}
      </Table>
    </TableFrame>
  )
}

function Empty({ isFiltered, clear }: { isFiltered: boolean; clear(): void }) {
  const [scope] = useScope()
  const { allowed, reason } = useAnyPermission('action:view', scope)
  const { allowed: mayRun } = useAnyPermission('pipeline:run', scope)
  const step = useFirstStep('pipeline')
  if (isFiltered)
    return (
      <EmptyState
        icon={Activity}
        title="No actions match these filters"
        action={
          <Button variant="default" onClick={clear}>
            Clear filters
          </Button>
        }
      />
    )
  if (step) return <StartHere {...EMPTY} needs="pipeline" />
  if (!allowed)
    return (
      <EmptyState icon={ShieldAlert} title="You cannot see runs here">
        {reason}
      </EmptyState>
    )
  return (
    <EmptyState
      {...EMPTY}
      action={
        mayRun && (
          <Button component={Link} href={`/pipelines${scopeSearch(scope)}`}>
            Run a pipeline
          </Button>
        )
      }
    >
      {EMPTY.text}
    </EmptyState>
  )
}

const EMPTY = {
  icon: Activity,
  title: 'No runs yet',
  text: 'Run a pipeline from its page, or call one of its incoming hooks. Runs appear here as they start.',
}

/** j and k move through the links of the rows, which Enter opens; / focuses the filters. */
function useListKeys(list: RefObject<HTMLElement | null>, focusFilters: () => void): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      const isTyping =
        event.target instanceof HTMLElement &&
        event.target.matches('input, textarea, select, [contenteditable]')
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return
      if (event.key === '/') focusFilters()
      else if (event.key === 'j' || event.key === 'k') moveFocus(list.current, event.key === 'j' ? 1 : -1)
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
}

function moveFocus(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLAnchorElement>('a') ?? [])]
  const here = links.indexOf(document.activeElement as HTMLAnchorElement)
  const next = here === -1 ? (by === 1 ? 0 : links.length - 1) : here + by
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus()
}

const COLUMNS = ['Run', 'Status', 'Environment', 'Triggered by', 'Duration', 'Created']

type ActionRowProps = { row: Row; pipelineName: string | undefined }

/** Renders again only when its row changes; plain elements, because rows come and go several times a second. */
const ActionRow = memo(function ActionRow({ row, pipelineName }: ActionRowProps) {
  return (
    <tr className={classes.row} data-action={row.id}>
      <td>
        <Link href={`/actions/${row.id}`} className={classes.link}>
          <span className={classes.name}>{pipelineName ?? 'Run'}</span> <span>#{row.id}</span>
        </Link>
        <div className={`dimmed ${classes.details}`} title={row.message || undefined}>
          <span className={row.hash ? classes.extra : undefined}>
            {row.type} · {row.resource}
            {row.ref && ` · ${row.ref}`}
          </span>
          {row.hash && (
            <>
              <span className={classes.extra}> · </span>
              <code>{row.hash}</code>
            </>
          )}
          {row.message && ` ${row.message}`}
        </div>
      </td>
      <td>
        <StatusBadge status={row.status} label={row.reason} />
      </td>
      <td>
        {row.environment}
        <div className="dimmed">{row.project}</div>
      </td>
      <td>{row.trigger}</td>
      <td>
        <Duration from={row.startedAt} to={row.completedAt} />
      </td>
      <td className="numeric dimmed">
        <Age of={row.createdAt} />
      </td>
    </tr>
  )
})
