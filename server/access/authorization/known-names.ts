import { can, type Grant, type Scope } from './permissions.ts'

// Whose names a caller may know. Pure.

/** What a run names. */
type Named = 'project' | 'environment' | 'application' | 'server' | 'pipeline'

type User = { grants: readonly Grant[] }

/** A caller who may read actions knows the names of everything that they belong to. */
export function knowsName(user: User, type: Named, scope: Scope): boolean {
  const { organization_id, project_id } = scope
  if (can(user, 'action:view', scope)) return true
  // An environment shows its project.
  if (type === 'project')
    return can(user, 'environment:view', scope) || can(user, 'project:view', { organization_id, project_id })
  return can(user, `${type}:view`, scope)
}

/** What a caller may know of the names that a pipeline and its hooks belong to. */
export type KnownNames = { pipeline: boolean; application: boolean; server: boolean }

export function knownNames(user: User, scope: Scope): KnownNames {
  const knows = (type: Named) => knowsName(user, type, scope)
  return { pipeline: knows('pipeline'), application: knows('application'), server: knows('server') }
}
