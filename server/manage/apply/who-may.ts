import type { Caller } from '#access/authorization/caller.ts'
import type { Permission } from '#access/authorization/permissions.ts'
import { tellsSecret } from './compare.ts'
import { hasRoleAround, lackingToChange, lackingToCreate, maySee } from './lacking.ts'
import type { State, Stored } from './state.ts'
import { keyOf, parentOf, resourceOf, type Wanted } from './things.ts'

// What a caller lacks for what a document says about one thing, in words. Pure.

type Asking = { state: State; caller: Caller }

/** A new organization belongs to whoever makes it, with everything in it. */
export function lackingFor({ state, caller }: Asking, wanted: Wanted, stored: Stored | undefined): string[] {
  if (wanted.type === 'organization') {
    return stored || caller.is_instance_admin
      ? []
      : ['an administrator of this installation, who makes organizations']
  }
  const parent = nearest(state, wanted)
  if (!parent) return []
  const place = parent.stored.place
  const creating = {
    type: wanted.type,
    parent: parent.direct.type,
    resource: wanted.type === 'hook' ? resourceOf(wanted.path) : undefined,
  }
  if (!stored) return sayPermissions(lackingToCreate(caller, creating, place))
  if (
    wanted.type === 'project' &&
    Object.keys(wanted.body).length === 0 &&
    hasRoleAround(caller, stored.place)
  )
    return []
  if (!maySee(caller, wanted.type, stored.place)) {
    const unseen = lackingToCreate(caller, creating, place)
    return sayPermissions(unseen.length > 0 ? unseen : lackingToChange(caller, wanted.type, stored.place))
  }
  return tellsSecret(wanted) ? sayPermissions(lackingToChange(caller, wanted.type, stored.place)) : []
}

export function lackingForChange(
  { state, caller }: Asking,
  wanted: Wanted,
  stored: Stored | undefined,
): string[] {
  const place = stored?.place ?? nearest(state, wanted)?.stored.place
  return place ? sayPermissions(lackingToChange(caller, wanted.type, place)) : []
}

function sayPermissions(permissions: readonly Permission[]): string[] {
  return permissions.map((permission) => `the permission ${permission}`)
}

/** The innermost thing around it that is there already; undefined when not even the organization is. */
function nearest(
  state: State,
  wanted: Wanted,
): { stored: Stored; direct: { type: Wanted['type'] } } | undefined {
  const directPath = parentOf(wanted)!
  const direct = { type: PARENT_TYPES[wanted.type] ?? (resourceOf(wanted.path) as Wanted['type']) }
  for (let path: readonly string[] | undefined = directPath; path; path = outer(path)) {
    const stored = state.things.get(keyOf(path))
    if (stored) return { stored, direct }
  }
  return undefined
}

const PARENT_TYPES: Partial<Record<Wanted['type'], Wanted['type']>> = {
  project: 'organization',
  credential: 'organization',
  environment: 'project',
  server: 'environment',
  application: 'environment',
  variable: 'application',
  step: 'pipeline',
  hook: 'pipeline',
}

function outer(path: readonly string[]): readonly string[] | undefined {
  if (path[0] === 'organization') return undefined
  if (path[0] === 'project') return ['organization']
  return path.length === 2 ? ['project'] : path.slice(0, -2)
}
