import type { Caller } from '#access/authorization/caller.ts'
import { slugifyAnyScript } from '#client/slug.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { pickFields } from '#platform/http/schemas.ts'
import { byPath, type IndexedName, keyOf } from './indexed-names.ts'
import type { NameIndex } from './name-index.ts'
import { entriesWithin, type NameQuery } from './name-query.ts'
import { type NameEntry, nameEntrySchema } from './schemas.ts'
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
  const { type, scope, parent } = entry
  const pipeline = type === 'pipeline' ? entry : parent?.type === 'pipeline' ? parent : null
  const resource = pipeline?.parent
  return pickFields(nameEntrySchema, {
    ...entry,
    project_id: scope.project_id ?? null,
    environment_id: scope.environment_id ?? null,
    resource_type: (resource?.type as NameEntry['resource_type']) ?? null,
    resource_id: (resource?.id as number | undefined) ?? null,
    pipeline_id: pipeline && pipeline !== entry ? (pipeline.id as number) : null,
  })
}

// Searches names for words. Pure.

/**
 * The entries in whose path every word of the text occurs, literally and in any case, best matches first. Words are
 * separated by slashes and spaces. Accents may be left out, and names may be written as people wrote them.
 */
function searchNames(entries: readonly IndexedName[], text: string): IndexedName[] {
  const { words, rank } = readSearch(text)
  const found = entries.filter(({ path, keys }) =>
    words.every((word) => path.includes(word) || keys.includes(word)),
  )
  const ranked = Map.groupBy(found, rank)
  return RANKS.flatMap((one) => ranked.get(one)?.sort(byPath) ?? [])
}

/** The path is the text; the name is its last part or last word; the name starts with its last word; all others. */
const RANKS = [0, 1, 2, 3] as const

function readSearch(text: string) {
  const parts = keyOf(text)
    .split('/')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const words = parts.flatMap((part) => part.split(/\s+/))
  const path = parts.map(slugifyAnyScript).join('/')
  const [part = '', word = ''] = [parts.at(-1), words.at(-1)]
  const names = new Set([part, word])
  const slugs = new Set([part, word].map(slugifyAnyScript))
  const start = slugifyAnyScript(word) || word
  function rank(entry: IndexedName): (typeof RANKS)[number] {
    if (words.length === 0) return 3
    if (entry.path === path) return 0
    if (names.has(entry.key) || slugs.has(entry.slug)) return 1
    return entry.key.startsWith(word) || entry.slug.startsWith(start) ? 2 : 3
  }
  return { words: [...new Set(words)], rank }
}
