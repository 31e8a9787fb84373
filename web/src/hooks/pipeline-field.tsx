import { Select, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { useScope } from '../scope/scope.ts'
import type { PermissionScope } from '../session/permissions.ts'

/** `scope` and `name` are unknown to people who may add hooks but not see pipelines. */
export type ChosenPipeline = {
  id: number
  name: string | undefined
  /** Tells it apart from others of this name. */
  path: string | undefined
  resourceType: string | undefined
  scope: PermissionScope | undefined
}

const MAX_OPTIONS = 50
const SEARCH_DELAY_MS = 200

/** A pipeline by its id. Undefined while it loads; without a name for people who may not see it. */
export function useChosenPipeline(id: number | undefined): ChosenPipeline | undefined {
  const api = useApi()
  const { data, isSuccess } = useQuery({
    queryKey: queryKeys.names({ type: 'pipeline', id }),
    enabled: id !== undefined,
    queryFn: ({ signal }) =>
      api.get('/names', { params: { query: { type: 'pipeline', 'filter[id]': String(id) } }, signal }),
  })
  if (id === undefined || !isSuccess) return undefined
  const entry = data?.[0]
  return {
    id,
    name: entry?.name,
    path: entry?.path,
    resourceType: entry?.resource_type ?? undefined,
    scope: entry && {
      organization: entry.organization.id,
      project: entry.project_id,
      environment: entry.environment_id,
    },
  }
}

type PipelineFieldProps = { chosen: ChosenPipeline | undefined; choose(id: number | undefined): void }

/** The pipelines of the selected scope, found by name. The only one there is chosen by itself. */
export function PipelineField({ chosen, choose }: PipelineFieldProps) {
  const api = useApi()
  const [{ organization, project, environment }] = useScope()
  const within = environment
    ? `environment:${environment}`
    : project
      ? `project:${project}`
      : organization && `organization:${organization}`
  const [search, setSearch] = useState('')
  const [searched] = useDebouncedValue(search, SEARCH_DELAY_MS)
  // The text of the chosen one is no search.
  const q = chosen && searched === labelOf(chosen) ? '' : searched
  const { data } = useQuery({
    queryKey: queryKeys.names({ type: 'pipeline', within, q }),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const query = { type: 'pipeline', per_page: MAX_OPTIONS, ...(within && { within }), ...(q && { q }) }
      return api.get('/names', { params: { query }, signal })
    },
  })
  const only = q === '' && data?.length === 1 ? Number(data[0]!.id) : undefined
  useEffect(() => {
    if (only !== undefined && chosen === undefined) choose(only)
  }, [only, chosen, choose])
  // People may add hooks without seeing pipelines.
  if (data?.length === 0 && q === '')
    return (
      <TextInput
        label="Pipeline ID"
        description="You cannot see any pipelines here. Enter the ID if you know it."
        inputMode="numeric"
        maw="32rem"
        value={chosen?.id ?? ''}
        onChange={(event) => choose(Number(event.currentTarget.value.replaceAll(/\D/g, '')) || undefined)}
      />
    )
  const listed = data?.map(optionOf) ?? []
  const isListed = listed.some(({ value }) => value === String(chosen?.id))
  const extra = chosen && !isListed ? [optionOf(chosen)] : []
  return (
    <Select
      label="Pipeline"
      placeholder="Choose a pipeline"
      maw="32rem"
      searchable
      allowDeselect={false}
      nothingFoundMessage="No pipeline with this name"
      data={[...extra, ...listed]}
      value={chosen ? String(chosen.id) : null}
      onChange={(id) => choose(id === null ? undefined : Number(id))}
      onSearchChange={setSearch}
      // What the API found matches by path, too.
      filter={({ options }) => options}
    />
  )
}

type Option = { id: number | string; name: string | undefined; path: string | undefined }

/** The same whether it was found or chosen: a Select searches for the text of its option when that changes. */
function optionOf(pipeline: Option) {
  return { value: String(pipeline.id), label: labelOf(pipeline) }
}

function labelOf({ id, name, path }: Option): string {
  return name === undefined ? `Pipeline ${id}` : `${name} (${path})`
}
