import { Select, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { useScope } from '#web/shared/scope/scope.ts'
import { readScopeNames, type ScopeNames, scopeLabel } from '#web/shared/scope/scope-names.ts'

/** `scope` and `name` are unknown to people who may add hooks but not see pipelines. */
export type ChosenPipeline = {
  id: number
  name: string | undefined
  resourceType: string | undefined
  resourceId: number | undefined
  scope: PermissionScope | undefined
}

const MAX_OPTIONS = 50
const SEARCH_DELAY_MS = 200

/** A pipeline by its id. Undefined while it loads; without a name for people who may not see it. */
export function useChosenPipeline(id: number | undefined): ChosenPipeline | undefined {
  const { data, isSuccess } = useGet(queryKeys.names({ type: 'pipeline', id }), '/names', {
    params: { query: { type: 'pipeline', 'filter[id]': String(id) } },
    enabled: id !== undefined,
  })
  if (id === undefined || !isSuccess) return undefined
  const entry = data?.[0]
  return {
    id,
    name: entry?.name,
    resourceType: entry?.resource_type ?? undefined,
    resourceId: entry?.resource_id ?? undefined,
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
  // The select shows the chosen one as the text of its search.
  const labels = useRef(new Set<string>()).current
  const q = labels.has(searched) ? '' : searched
  const { data } = useQuery({
    queryKey: queryKeys.names({ options: 'pipeline', within, q }),
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = { type: 'pipeline', per_page: MAX_OPTIONS, ...(within && { within }), ...(q && { q }) }
      const entries = await api.get('/names', { params: { query }, signal })
      const names = await readScopeNames(api, entries, signal)
      return entries.map((entry) => optionOf(entry, names))
    },
  })
  const only = q === '' && data?.length === 1 ? Number(data[0]!.value) : undefined
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
  const listed = data ?? []
  const isListed = listed.some(({ value }) => value === String(chosen?.id))
  const extra =
    chosen && !isListed ? [{ value: String(chosen.id), label: chosen.name ?? `Pipeline ${chosen.id}` }] : []
  for (const { label } of [...extra, ...listed]) labels.add(label)
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

/** Where it is tells pipelines of the same name apart. */
function optionOf(entry: NameEntry, names: ScopeNames) {
  return { value: String(entry.id), label: `${entry.name} · ${scopeLabel(entry, names)}` }
}
