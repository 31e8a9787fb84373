import type { Caller } from '#access/authorization/caller.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import type { IndexedName } from './indexed-names.ts'
import type { NameIndex } from './name-index.ts'
import { entriesWithin, type NameQuery } from './name-query.ts'
import type { NameEntry } from './schemas.ts'
import { searchNames } from './search-names.ts'
import { visibleNames } from './visible-names.ts'

export async function listNames(
  readIndex: NameIndex,
  caller: Caller,
  { types, text, ids, within }: NameQuery,
  { limit, offset }: Page,
): Promise<{ items: NameEntry[]; extent: Extent }> {
  const index = await readIndex(caller)
  const isWanted = ({ type, id }: IndexedName) => types.has(type) && (ids?.has(String(id)) ?? true)
  const entries = within
    ? entriesWithin(visibleNames(index, caller), within).filter(isWanted)
    : visibleNames(index.filter(isWanted), caller)
  const found = searchNames(entries, text)
  const items = found.slice(offset, offset + limit).map(present)
  return { items, extent: { total: found.length, hasMore: offset + limit < found.length } }
}

function present(entry: IndexedName): NameEntry {
  const { type, id, name, path, organization, scope, archived, parent } = entry
  const pipeline = type === 'pipeline' ? entry : parent?.type === 'pipeline' ? parent : null
  const resource = pipeline?.parent
  return {
    type,
    id,
    name,
    path,
    organization,
    project_id: scope.project_id ?? null,
    environment_id: scope.environment_id ?? null,
    resource_type: (resource?.type as NameEntry['resource_type']) ?? null,
    resource_id: (resource?.id as number | undefined) ?? null,
    pipeline_id: pipeline && pipeline !== entry ? (pipeline.id as number) : null,
    archived,
  }
}
