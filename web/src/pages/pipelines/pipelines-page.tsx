import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData } from '@tanstack/react-query'
import { Workflow } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { queryKeys, usePage } from '#web/base/api/queries.ts'
import type { Environment, Pipeline } from '#web/base/api/types.ts'
import { environmentScope, type PermissionScope } from '#web/base/session/permissions.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { type Column, RowTable } from '#web/base/ui/table.tsx'
import { AddPipelineDialog } from '#web/resources/pipelines/add-pipeline-dialog.tsx'
import { parseResourceKey } from '#web/resources/pipelines/new-pipeline.ts'
import { EachEnvironment } from '#web/shared/scope/each-environment.tsx'
import { type Scope, useScope, useSearch } from '#web/shared/scope/scope.ts'
import { AddButton } from '#web/shared/scope/start-here.tsx'
import { RunMarks } from './recent-runs.tsx'

const EMPTY = {
  icon: Workflow,
  title: 'No pipelines yet',
  text: 'A pipeline deploys an application, or runs commands on its servers.',
}

/** `?add=1` opens the dialog, `?add=application:12` for this application: other pages link to it. */
export default function PipelinesPage() {
  const [scope] = useScope()
  const [search, update] = useSearch()
  const add = search.get('add')
  const open = (key: string | undefined) => update({ add: key }, true)
  return (
    <>
      <PageHeader title="Pipelines">
        <AddButton permission="pipeline:add" needs="resource" onClick={() => open('1')}>
          Add pipeline
        </AddButton>
      </PageHeader>
      <EachEnvironment empty={EMPTY}>
        {(environment) => (
          <EnvironmentPipelines
            environment={environment}
            addButton={
              <AddButton
                permission="pipeline:add"
                needs="resource"
                environment={environment}
                variant="default"
                onClick={() => open(`environment:${environment.id}`)}
              >
                Add pipeline
              </AddButton>
            }
          />
        )}
      </EachEnvironment>
      {add !== null && (
        <AddPipelineDialog
          within={withinOf(add) ?? scopeKey(scope)}
          resource={parseResourceKey(add)}
          close={() => open(undefined)}
        />
      )}
    </>
  )
}

/** What the dialog offers, as `GET /names` takes it: everything of the narrowest scope that is selected. */
function scopeKey({ organization, project, environment }: Scope): string | undefined {
  if (environment !== undefined) return `environment:${environment}`
  if (project !== undefined) return `project:${project}`
  return organization === undefined ? undefined : `organization:${organization}`
}

function withinOf(add: string): string | undefined {
  return /^environment:[1-9]\d{0,14}$/.test(add) ? add : undefined
}

const PER_PAGE = 25
const DEBOUNCE_MS = 250

/** A page of them; `search` is a part of the name of a pipeline or of what it runs on. */
function useEnvironmentPipelines(id: number, search: string, page: number) {
  const query = { page, per_page: PER_PAGE, ...(search !== '' && { q: search }) }
  return usePage(queryKeys.environmentPipelines(id, search, page), '/environments/{id}/pipelines', {
    params: { path: { id }, query },
    placeholderData: keepPreviousData,
  })
}

type EnvironmentPipelinesProps = { environment: Environment; addButton: ReactNode }

function EnvironmentPipelines({ environment, addButton }: EnvironmentPipelinesProps) {
  const [text, setText] = useState('')
  const [search] = useDebouncedValue(text.trim(), DEBOUNCE_MS)
  const [page, setPage] = useState(1)
  const query = useEnvironmentPipelines(environment.id, search, page)
  const label = `Pipelines of ${environment.name}`
  return (
    <Loaded query={query} what="pipelines">
      {({ items, total, hasNext }) => {
        if (items.length === 0 && page === 1 && search === '' && text === '')
          return (
            <EmptyState {...EMPTY} action={addButton} isCompact>
              {EMPTY.text}
            </EmptyState>
          )
        return (
          <>
            {(search !== '' || text !== '' || hasNext || page > 1) && (
              <TextInput
                mb="sm"
                maw="20rem"
                type="search"
                aria-label={`Filter ${label.toLowerCase()}`}
                placeholder="Filter by name"
                value={text}
                onChange={(event) => {
                  setText(event.currentTarget.value)
                  setPage(1)
                }}
              />
            )}
            {items.length === 0 ? (
              <p className="dimmed">No pipelines match.</p>
            ) : (
              <RowTable label={label} rows={items} columns={columnsIn(environmentScope(environment))} />
            )}
            {(page > 1 || hasNext) && (
              <Pager label={`Pages of ${label}`} {...{ page, total, hasNext }} go={setPage} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

const columnsIn = (scope: PermissionScope): Column<Pipeline>[] => [
  ['Name', 'wrap name-cell', ({ id, name }) => <Link href={`/pipelines/${id}`}>{name}</Link>],
  ['Runs on', 'wrap', (pipeline) => <RunsOn pipeline={pipeline} />],
  ['Operation', 'dimmed', ({ operation_human_readable }) => operation_human_readable],
  ['Steps', 'numeric dimmed', ({ steps }) => steps.length],
  ['Last runs', undefined, ({ id }) => <RunMarks pipelineId={id} scope={scope} />],
]

function RunsOn({ pipeline }: { pipeline: Pipeline }) {
  const { resource_type: type, resource_id: id, resource_name: name } = pipeline
  if (name === null) return <span className="dimmed">{`${pipeline.resource_type_human_readable} ${id}`}</span>
  return <Link href={`/${type}s/${id}`}>{name}</Link>
}
