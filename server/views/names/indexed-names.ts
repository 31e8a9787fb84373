import type { Scope } from '#access/authorization/permissions.ts'
import { slugifyAnyScript } from '#client/slug.ts'
import type { NameRow } from './load-names.ts'
import { NAMED_TYPES, type NamedType } from './schemas.ts'

// The index of names, built from rows. Pure.

/** Something with a name, and where it is. */
export type IndexedName = {
  type: NamedType
  id: number | string
  name: string
  organization: { id: number; name: string }
  /** Where permissions on it apply; one object for everything in an environment. */
  scope: Scope
  archived: boolean
  /** What precedes it in its path. */
  parent: IndexedName | null
  /** Its own part of the path, … */
  slug: string
  path: string
  /** … and its name, for comparisons that ignore case and normalization. */
  key: string
  /** Like the path, of keys. */
  keys: string
}

/** By organization, each list sorted by path. Rows whose parents are missing are left out. */
export function buildIndex(rows: readonly NameRow[]): Map<number, IndexedName[]> {
  const byType = Map.groupBy(rows, (row) => row.type)
  const known = new Map(NAMED_TYPES.map((type) => [type, new Map<number | string, IndexedName>()]))
  const find = (type: NamedType, id: number | null) => known.get(type)!.get(id ?? 0)
  /** Many have the same name: each is read once. */
  const names = new Map<string, ReturnType<typeof read>>()
  const lists = new Map<number, IndexedName[]>()
  // Parents come before their children.
  for (const row of NAMED_TYPES.flatMap((type) => byType.get(type) ?? [])) {
    const organization =
      row.type === 'organization'
        ? { id: row.organization_id, name: row.name }
        : find('organization', row.organization_id)?.organization
    const parent = row.parent_type === null ? null : find(row.parent_type, row.parent_id)
    if (organization === undefined || parent === undefined) continue
    const entry = createEntry(row, names.getOrInsertComputed(row.name, read), organization, parent)
    known.get(row.type)!.set(entry.id, entry)
    lists.getOrInsertComputed(row.organization_id, () => []).push(entry)
  }
  for (const list of lists.values()) list.sort(byPath)
  return lists
}

function createEntry(
  { type, id: text, name, url_slug, archived }: NameRow,
  { slug: ownSlug, key }: ReturnType<typeof read>,
  organization: IndexedName['organization'],
  parent: IndexedName | null,
): IndexedName {
  const id = type.endsWith('_hook') ? text : Number(text)
  const slug = url_slug ?? (ownSlug || slugOfId({ type, id }))
  return {
    type,
    id,
    name,
    organization,
    scope: scopeOf(type, id as number, parent?.scope ?? { organization_id: organization.id }),
    archived,
    parent,
    slug,
    key,
    ...joinPath(parent, { slug, key }),
  }
}

export function joinPath(
  above: Pick<IndexedName, 'path' | 'keys'> | null,
  { slug, key }: Pick<IndexedName, 'slug' | 'key'>,
): Pick<IndexedName, 'path' | 'keys'> {
  return above ? { path: `${above.path}/${slug}`, keys: `${above.keys}/${key}` } : { path: slug, keys: key }
}

function scopeOf(type: NamedType, id: number, outer: Scope): Scope {
  if (type === 'project') return { ...outer, project_id: id }
  return type === 'environment' ? { ...outer, environment_id: id } : outer
}

const read = (name: string) => ({ slug: slugifyAnyScript(name), key: keyOf(name) })

/** Replaces a name that cannot be shown: `project-7`. */
export function slugOfId({ type, id }: Pick<IndexedName, 'type' | 'id'>): string {
  return `${type.replace('_', '-')}-${id}`
}

export function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

const ORDER = Object.fromEntries(NAMED_TYPES.map((type, index) => [type, index])) as Record<NamedType, number>

/** By path, then type, then id: the same order for every request. */
export function byPath(one: IndexedName, other: IndexedName): number {
  if (one.path !== other.path) return one.path < other.path ? -1 : 1
  if (one.type !== other.type) return ORDER[one.type] - ORDER[other.type]
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0
}
