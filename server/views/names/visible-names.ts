import { knowsName } from '#access/authorization/known-names.ts'
import { can, type Grant, type Permission, type Scope } from '#access/authorization/permissions.ts'
import { type IndexedName, joinPath, slugOfId } from './indexed-names.ts'
import { NAMED_TYPES, type NamedType } from './schemas.ts'

// Which names a caller sees. Pure.

/** The permission that the route which reads one of them requires. */
export const VIEWED_WITH = {
  organization: 'organization:view',
  project: 'project:view',
  environment: 'environment:view',
  application: 'application:view',
  server: 'server:view',
  pipeline: 'pipeline:view',
  incoming_hook: 'hook:view',
  outgoing_hook: 'hook:view',
  credential: 'credential:view',
} as const satisfies Record<NamedType, Permission>

type User = { grants: readonly Grant[] }

type Visibility = {
  /** What the caller may read in a scope. */
  shown: ReadonlySet<NamedType>
  /** What must not be named in the paths of what is below it. */
  unnamed: ReadonlySet<NamedType>
  /** The start of paths in which such names are replaced, by what it leads to. */
  starts: Map<IndexedName, PathParts>
}

type PathParts = Pick<IndexedName, 'path' | 'keys'>

/** Entries that the caller may read. Names in their paths that the caller may not know are replaced by ids. */
export function visibleNames(entries: readonly IndexedName[], caller: User): IndexedName[] {
  const known = new Map<Scope, Visibility>()
  let visibility: Visibility | undefined
  let scope: Scope | undefined
  const visible: IndexedName[] = []
  for (const entry of entries) {
    // Most entries are in the scope of the one before.
    if (!visibility || entry.scope !== scope) {
      scope = entry.scope
      visibility = known.getOrInsertComputed(scope, (one) => visibilityIn(one, caller))
    }
    if (visibility.shown.has(entry.type)) visible.push(hideNames(entry, visibility))
  }
  return visible
}

/** What can be above something else in a path. */
const ANCESTORS = ['project', 'environment', 'application', 'server', 'pipeline'] as const

function visibilityIn(scope: Scope, caller: User): Visibility {
  return {
    shown: new Set(NAMED_TYPES.filter((type) => can(caller, VIEWED_WITH[type], scope))),
    unnamed: new Set(ANCESTORS.filter((type) => !knowsName(caller, type, scope))),
    starts: new Map(),
  }
}

function hideNames(entry: IndexedName, visibility: Visibility): IndexedName {
  if (visibility.unnamed.size === 0 || !entry.parent) return entry
  return { ...entry, ...joinPath(startOf(entry.parent, visibility), entry) }
}

function startOf(entry: IndexedName, visibility: Visibility): PathParts {
  return visibility.starts.getOrInsertComputed(entry, () => {
    const id = slugOfId(entry)
    const own = visibility.unnamed.has(entry.type) ? { slug: id, key: id } : entry
    return joinPath(entry.parent && startOf(entry.parent, visibility), own)
  })
}
