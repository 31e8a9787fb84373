// Hooks of both kinds, environment by environment.
import { Group, SegmentedControl, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData } from '@tanstack/react-query'
import { ArrowDownToLine, ArrowUpFromLine, Search, Webhook } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { queryKeys, usePage } from '#web/base/api/queries.ts'
import type { Environment, Hook } from '#web/base/api/types.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import { HookBadge } from '#web/resources/hooks/hook-badge.tsx'
import classes from '#web/resources/hooks/hooks.module.css'
import { usePipelineNames } from '#web/resources/pipelines/pipeline-names.ts'
import { EachEnvironment } from '#web/shared/scope/each-environment.tsx'
import { scopeSearch, useScope, useSearch } from '#web/shared/scope/scope.ts'
import { AddButton } from '#web/shared/scope/start-here.tsx'

const TYPES = [
  { value: 'all', label: 'All' },
  { value: 'incoming', label: 'Incoming' },
  { value: 'outgoing', label: 'Outgoing' },
]
const SEARCH_DELAY_MS = 250

const EMPTY = {
  icon: Webhook,
  title: 'No hooks yet',
  text: 'An incoming hook starts a pipeline when a service calls its URL. An outgoing hook notifies a service about runs.',
}

export default function HooksPage() {
  const [search, update] = useSearch()
  const type = TYPES.find(({ value }) => value === search.get('type'))?.value ?? 'all'
  const [text, setText] = useState(search.get('q') ?? '')
  const [q] = useDebouncedValue(text, SEARCH_DELAY_MS)
  useEffect(() => update({ q }, true), [q, update])
  const filter: HookFilter = { q, type: type === 'all' ? undefined : (type as HookFilter['type']) }
  return (
    <>
      <PageHeader title="Hooks">
        <AddHookButton />
      </PageHeader>
      <Group gap="sm" mb="md">
        <TextInput
          aria-label="Filter hooks"
          placeholder="Filter by name, pipeline or application"
          leftSection={<Search size={16} strokeWidth={1.75} aria-hidden="true" />}
          w="20rem"
          maw="100%"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <SegmentedControl
          aria-label="Type of hooks"
          data={TYPES}
          value={type}
          onChange={(next) => update({ type: next === 'all' ? undefined : next }, true)}
        />
      </Group>
      <EachEnvironment empty={EMPTY}>
        {(environment) => (
          <EnvironmentHooks
            key={`${environment.id} ${type} ${q}`}
            environment={environment}
            filter={filter}
          />
        )}
      </EachEnvironment>
    </>
  )
}

/** The next page asks which kind, which pipeline and which service. */
function AddHookButton({ environment }: { environment?: Environment }) {
  const [scope] = useScope()
  const [, navigate] = useLocation()
  const to = `/hooks/new${scopeSearch(environment ? environmentScope(environment) : scope)}`
  return (
    <AddButton
      permission="hook:add"
      needs="pipeline"
      {...(environment && { environment, variant: 'default' })}
      onClick={() => navigate(to)}
    >
      Add hook
    </AddButton>
  )
}

type HookFilter = { q: string; type: Hook['type'] | undefined }

const PER_PAGE = 25
const REFETCH_INTERVAL_MS = 15_000

/** One environment of the list. */
function EnvironmentHooks({ environment, filter }: { environment: Environment; filter: HookFilter }) {
  const { id } = environment
  const [page, setPage] = useState(1)
  const { q, type } = filter
  const wanted = { page, per_page: PER_PAGE, ...(q && { q }), ...(type && { 'filter[type]': type }) }
  const query = usePage(queryKeys.environmentHooks(id, filter, page), '/environments/{id}/hooks', {
    params: { path: { id }, query: wanted },
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
  })
  return (
    <Loaded query={query} what="hooks">
      {({ items, total, hasNext }) =>
        items.length === 0 && page === 1 ? (
          <NoHooks environment={environment} filter={filter} />
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

function NoHooks({ environment, filter }: { environment: Environment; filter: HookFilter }) {
  const isFiltered = filter.q !== '' || filter.type !== undefined
  if (isFiltered) return <span className="dimmed">No hook matches</span>
  return (
    <EmptyState {...EMPTY} isCompact action={<AddHookButton environment={environment} />}>
      {EMPTY.text}
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
