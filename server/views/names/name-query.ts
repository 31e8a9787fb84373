import { invalid } from '#platform/http/errors.ts'
import type { IndexedName } from './indexed-names.ts'
import { NAMED_TYPES, type NamedType } from './schemas.ts'

// Which names a request asks for. Pure.

export type NameQuery = {
  types: ReadonlySet<NamedType>
  text: string
  /** Only these, of the one type that is asked for. */
  ids?: ReadonlySet<string>
  /** Only what is below this one. */
  within?: { type: NamedType; id: string }
}

const TYPES = NAMED_TYPES.join('|')
const INTEGER = '[1-9]\\d{0,15}'
const UUID = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'
const ID = `(?:${INTEGER}|${UUID})`
const MAX_IDS = 100

export const TYPES_PATTERN = `^(${TYPES})(,(${TYPES}))*$`
export const WITHIN_PATTERN = `^(${TYPES}):${ID}$`
export const IDS_PATTERN = `^${ID}(,${ID}){0,${MAX_IDS - 1}}$`
export const MAX_IDS_LENGTH = MAX_IDS * 37

type Sent = { type?: string; q?: string; within?: string; 'filter[id]'?: string }

/** Throws when ids are asked for without the one type that they belong to. */
export function nameQueryOf({ type, q = '', within, 'filter[id]': ids }: Sent): NameQuery {
  const types = new Set((type?.split(',') ?? NAMED_TYPES) as readonly NamedType[])
  if (ids !== undefined && types.size !== 1) throw invalid({ 'filter[id]': ['requires exactly one type'] })
  const [container, id] = within?.split(':') ?? []
  return {
    types,
    text: q,
    ...(ids !== undefined && { ids: new Set(ids.toLowerCase().split(',')) }),
    ...(id !== undefined && { within: { type: container as NamedType, id: id.toLowerCase() } }),
  }
}

/** Those below the container; none unless it is one of the entries itself. */
export function entriesWithin(
  entries: readonly IndexedName[],
  { type, id }: NonNullable<NameQuery['within']>,
): IndexedName[] {
  const isContainer = (entry: IndexedName) => entry.type === type && String(entry.id) === id
  if (!entries.some(isContainer)) return []
  if (type === 'organization')
    return entries.filter((entry) => entry.type !== type && String(entry.organization.id) === id)
  return entries.filter((entry) => {
    let above = entry.parent
    while (above && !isContainer(above)) above = above.parent
    return above !== null
  })
}
