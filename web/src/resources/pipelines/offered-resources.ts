// What a new pipeline may run on.
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { readScopeNames, type ScopeNames, scopeLabel } from '#web/shared/scope/scope-names.ts'
import { type Resource, resourceKey } from './new-pipeline.ts'

export type OfferedResource = Resource & { label: string; scope: PermissionScope }
export type KnownResources = ReturnType<typeof useKnownResources>

const MAX_OFFERED = 50
const SEARCH_DEBOUNCE_MS = 200

/** Applications come first: most pipelines deploy one. With `given`, only that one is offered. */
export function useKnownResources(
  within: string | undefined,
  given: Pick<Resource, 'type' | 'id'> | undefined,
) {
  const api = useApi()
  const [search, setSearch] = useState('')
  const [text] = useDebouncedValue(search, SEARCH_DEBOUNCE_MS)
  // All that were ever offered: what was chosen stays known while the person searches for another one.
  const known = useRef(new Map<string, OfferedResource>()).current
  // The select shows the chosen one as the text of its search.
  const isLabel = [...known.values()].some(({ label }) => label === text)
  const q = given || isLabel ? '' : text.trim()
  const { data } = useQuery({
    queryKey: queryKeys.offeredResources(given ?? within, q),
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = {
        per_page: MAX_OFFERED,
        ...(given ? { 'filter[id]': String(given.id) } : within && { within }),
        ...(q !== '' && { q }),
      }
      const types = given ? [given.type] : (['application', 'server'] as const)
      const read = (type: Resource['type']) =>
        api.get('/names', { params: { query: { ...query, type } }, signal })
      const entries = (await Promise.all(types.map(read))).flat()
      const names = await readScopeNames(api, entries, signal)
      return entries.map((entry) => toResource(entry, names))
    },
  })
  const offered = data ?? []
  for (const one of offered) known.set(resourceKey(one), one)
  return { offered, known, isLoaded: data !== undefined, search, setSearch }
}

function toResource(entry: NameEntry, names: ScopeNames): OfferedResource {
  const { type, id, name, organization, project_id, environment_id } = entry
  const where = scopeLabel(entry, names)
  return {
    type: type as Resource['type'],
    id: Number(id),
    name,
    label: where === '' ? name : `${name} · ${where}`,
    scope: { organization: organization.id, project: project_id, environment: environment_id },
  }
}
