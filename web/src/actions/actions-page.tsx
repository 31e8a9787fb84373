import { Button, NativeSelect, Title } from '@mantine/core'
import { useCallback, useMemo, useRef } from 'react'
import { useSearchParams } from 'wouter'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { ActionRow } from './action-row.tsx'
import classes from './actions.module.css'
import { FilterBar } from './filter-bar.tsx'
import { isFiltered, PAGE_SIZES, readFilters } from './filters.ts'
import { useListKeys } from './use-list-keys.ts'
import { useRows } from './use-rows.ts'

export default function ActionsPage() {
  const [search, setSearch] = useSearchParams()
  const filters = useMemo(() => readFilters(search), [search])
  const { data, error, isPending, refetch } = useRows(filters)
  const filterBar = useRef<HTMLFieldSetElement>(null)
  const list = useRef<HTMLUListElement>(null)

  const change = useCallback(
    (values: Record<string, string>) =>
      setSearch((before) => {
        const after = new URLSearchParams(before)
        if (!('page' in values)) after.delete('page')
        for (const [name, value] of Object.entries(values))
          if (value === '') after.delete(name)
          else after.set(name, value)
        return after
      }),
    [setSearch],
  )
  useListKeys({ list, focusFilter: () => filterBar.current?.querySelector('select')?.focus() })

  return (
    <>
      <PageTitle title="Actions" />
      <div className="page-head">
        <Title order={1} size="h2">
          Actions
        </Title>
        <p className={classes.keys}>
          <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>/</kbd> filters
        </p>
      </div>
      <FilterBar ref={filterBar} filters={filters} change={change} />
      {error && !data ? (
        <Fault error={error} what="actions" retry={refetch} />
      ) : isPending ? (
        <Loading what="actions" />
      ) : data.rows.length === 0 ? (
        <Nothing
          filtered={isFiltered(filters)}
          clear={() => change({ status: '', type: '', trigger: '', pipeline: '', hook: '' })}
        />
      ) : (
        <div className="table-frame">
          <div className={classes.head} aria-hidden="true">
            <span>Action</span>
            <span>Status</span>
            <span>What</span>
            <span>Environment</span>
            <span>Started by</span>
            <span>Duration</span>
            <span>Age</span>
          </div>
          <ul className={classes.rows} ref={list} aria-label="Actions, newest first">
            {data.rows.map((row) => (
              <ActionRow key={row.id} row={row} />
            ))}
          </ul>
        </div>
      )}
      {data && (
        <Pages
          page={filters.page}
          perPage={filters.perPage}
          total={data.total}
          shown={data.rows.length}
          change={change}
        />
      )}
    </>
  )
}

function Nothing({ filtered, clear }: { filtered: boolean; clear(): void }) {
  if (filtered)
    return (
      <div className={classes.nothing}>
        <p>No action matches these filters.</p>
        <Button variant="default" onClick={clear}>
          Clear the filters
        </Button>
      </div>
    )
  return (
    <div className={classes.nothing}>
      <p>Nothing has run here yet.</p>
      <p className="quiet">
        Run a pipeline from its page, or send a call to one of its incoming hooks. The run appears here by
        itself.
      </p>
    </div>
  )
}

type PagesProps = {
  page: number
  perPage: number
  total: string
  shown: number
  change(values: Record<string, string>): void
}

function Pages({ page, perPage, total, shown, change }: PagesProps) {
  const isLast = shown < perPage || page * perPage >= (Number.parseInt(total, 10) || 0)
  const hasMore = total.endsWith('+') ? shown === perPage : !isLast
  return (
    <nav className={classes.pages} aria-label="Pages of actions">
      <Button
        variant="default"
        size="xs"
        disabled={page === 1}
        onClick={() => change({ page: page === 2 ? '' : String(page - 1) })}
      >
        Newer
      </Button>
      <span className="numbers">
        Page {page} · {total || shown} in all
      </span>
      <Button
        variant="default"
        size="xs"
        disabled={!hasMore}
        onClick={() => change({ page: String(page + 1) })}
      >
        Older
      </Button>
      <NativeSelect
        size="xs"
        aria-label="Rows on a page"
        value={String(perPage)}
        onChange={(event) =>
          change({ per_page: event.currentTarget.value === '25' ? '' : event.currentTarget.value })
        }
        data={PAGE_SIZES.map((size) => ({ value: String(size), label: `${size} rows` }))}
      />
    </nav>
  )
}
