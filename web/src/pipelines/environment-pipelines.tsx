import { Table, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Workflow } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Environment, Pipeline } from '../api/types.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Loaded } from '../ui/page.tsx'
import { DataTable, Pager } from '../ui/parts.tsx'
import { RunMarks } from './run-marks.tsx'

const PER_PAGE = 25
const DEBOUNCE_MS = 250

/** A page of them; `search` is a part of the name of a pipeline or of what it runs on. */
function useEnvironmentPipelines(id: number, search: string, page: number) {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.environmentPipelines(id, search, page),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const query = { page, per_page: PER_PAGE, ...(search !== '' && { q: search }) }
      return api.page('/environments/{id}/pipelines', { params: { path: { id }, query }, signal })
    },
  })
}

type EnvironmentPipelinesProps = { environment: Environment; addButton: ReactNode }

export function EnvironmentPipelines({ environment, addButton }: EnvironmentPipelinesProps) {
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
            <EmptyState icon={Workflow} title="No pipelines yet" action={addButton} isCompact>
              A pipeline deploys an application, or runs commands on its servers.
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
              <PipelinesTable label={label} pipelines={items} />
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

const COLUMNS = ['Name', 'Runs on', 'Operation', 'Steps', 'Last runs']

function PipelinesTable({ label, pipelines }: { label: string; pipelines: Pipeline[] }) {
  return (
    <DataTable columns={COLUMNS} aria-label={label}>
      {pipelines.map((pipeline) => (
        <Table.Tr key={pipeline.id}>
          <Table.Td miw="12rem" className="wrap name-cell">
            <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>
          </Table.Td>
          <Table.Td miw="8rem" className="wrap">
            <RunsOn pipeline={pipeline} />
          </Table.Td>
          <Table.Td className="dimmed">{pipeline.operation_human_readable}</Table.Td>
          <Table.Td className="numeric dimmed">{pipeline.steps.length}</Table.Td>
          <Table.Td>
            <RunMarks pipelineId={pipeline.id} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  )
}

function RunsOn({ pipeline }: { pipeline: Pipeline }) {
  const { resource_type: type, resource_id: id, resource_name: name } = pipeline
  if (name === null) return <span className="dimmed">{`${pipeline.resource_type_human_readable} ${id}`}</span>
  return <Link href={`/${type}s/${id}`}>{name}</Link>
}
