import type { Caller } from '#access/authorization/caller.ts'
import {
  can,
  type Permission,
  type Resource as PermissionResource,
  type Scope,
} from '#access/authorization/permissions.ts'
import { hasScope } from '#access/authorization/token-limits.ts'
import type { NamedApproval } from './approvers.ts'
import { suppliesSecret } from './compare.ts'
import { type Bodies, type DesiredResource, hostKind, keyOf, parentPath } from './resources.ts'
import type { ResourceKind } from './schemas.ts'
import type { State, StoredResource } from './stored-state.ts'

// The permissions that a change requires, which are those of its own route, and that the caller lacks. Pure.

type Rule = {
  permission: PermissionResource
  /** The parent of a pipeline is an application or a server. */
  parent?: ResourceKind
  /** Part of its parent: adding or removing one is an edit of the parent. */
  isPart?: true
}

const RULES: Record<ResourceKind, Rule> = {
  organization: { permission: 'organization' },
  project: { permission: 'project', parent: 'organization' },
  credential: { permission: 'credential', parent: 'organization' },
  environment: { permission: 'environment', parent: 'project' },
  freeze: { permission: 'environment', parent: 'environment', isPart: true },
  server: { permission: 'server', parent: 'environment' },
  application: { permission: 'application', parent: 'environment' },
  variable: { permission: 'application', parent: 'application', isPart: true },
  pipeline: { permission: 'pipeline' },
  step: { permission: 'pipeline', parent: 'pipeline', isPart: true },
  hook: { permission: 'hook', parent: 'pipeline' },
}

type Context = { state: State; caller: Caller }

/**
 * What the caller lacks to list a resource in a document at all. A new organization belongs to the caller who creates
 * it, with everything in it.
 */
export function missingFor(
  { state, caller }: Context,
  desired: DesiredResource,
  stored: StoredResource | undefined,
): string[] {
  const { type, body } = desired
  if (type === 'organization')
    return stored || caller.is_instance_admin ? [] : ['an instance administrator, to create an organization']
  const around = nearestScope(state, desired)
  if (!around) return []
  if (!stored) return missingToCreate(caller, desired, around)
  if (type === 'project' && Object.keys(body).length === 0 && hasRoleIn(caller, stored.scope)) return []
  if (!mayView(caller, stored)) {
    const missing = missingToCreate(caller, desired, around)
    return missing.length > 0 ? missing : missingToEdit(caller, type, stored.scope)
  }
  return suppliesSecret(desired) ? missingToEdit(caller, type, stored.scope) : []
}

/** Approvers are listed by their email addresses: the list is visible to callers who may view the members. */
export function missingToNameUsers(
  { state, caller }: Context,
  desired: DesiredResource,
  stored: StoredResource | undefined,
): string[] {
  const { approval } = desired.body as Bodies['environment']
  if (desired.type !== 'environment' || approval === undefined) return []
  const scope = nearestScope(state, desired)
  const namesUsers = listsUsers(approval) || (stored && listsUsers(stored.body.approval))
  return scope && namesUsers && !mayViewMembers(caller, scope) ? ['the permission member:view'] : []
}

export function listsUsers(approval: unknown): boolean {
  return ((approval as NamedApproval | null)?.from?.users ?? []).length > 0
}

export function mayViewMembers(caller: Caller, { organization_id }: Scope): boolean {
  return can(caller, 'member:view', { organization_id })
}

export function missingToChange(
  { state, caller }: Context,
  desired: DesiredResource,
  stored: StoredResource | undefined,
): string[] {
  const scope = stored?.scope ?? nearestScope(state, desired)
  return scope ? missingToEdit(caller, desired.type, scope) : []
}

export function missingToRemove(caller: Caller, { type, scope }: StoredResource): string[] {
  const { permission, isPart } = RULES[type]
  const needed: Permission[] = [`${permission}:view`, `${permission}:${isPart ? 'edit' : 'remove'}`]
  return [...missing(caller, scope, needed), ...missingScope(caller, type)]
}

export function mayView(caller: Caller, { type, scope }: StoredResource): boolean {
  return can(caller, `${RULES[type].permission}:view`, scope)
}

/**
 * Creating requires permission to view the parent. Callers without it must not learn whether the resource exists: they
 * lack the same permissions for one that they cannot see.
 */
function missingToCreate(caller: Caller, { type, path }: DesiredResource, scope: Scope): string[] {
  const { permission, parent = hostKind(path), isPart } = RULES[type]
  const lacking = missing(caller, scope, [
    `${RULES[parent].permission}:view`,
    ...(type === 'hook' ? [`${hostKind(path)}:view` as const] : []),
    `${permission}:${isPart ? 'edit' : 'add'}`,
  ])
  const scopes = missingScope(caller, type)
  if (lacking.length === 0) return scopes
  return [...new Set([...lacking, ...missing(caller, scope, [`${permission}:view`]), ...scopes])]
}

function missingToEdit(caller: Caller, type: ResourceKind, scope: Scope): string[] {
  const { permission } = RULES[type]
  return [
    ...missing(caller, scope, [`${permission}:view`, `${permission}:edit`]),
    ...missingScope(caller, type),
  ]
}

/** The route of apply requires the scope `manage`; those that change hooks require `hooks`, and neither includes the other. */
function missingScope({ token }: Caller, type: ResourceKind): string[] {
  return type === 'hook' && !hasScope(token, 'hooks') ? ['a token with the scope hooks'] : []
}

function missing(caller: Caller, scope: Scope, needed: Permission[]): string[] {
  return needed
    .filter((permission) => !can(caller, permission, scope))
    .map((permission) => `the permission ${permission}`)
}

/** A role anywhere in a project, or above it, reveals that the project exists. */
function hasRoleIn(caller: Caller, { organization_id, project_id }: Scope): boolean {
  return caller.grants.some(
    (grant) =>
      grant.organization_id === organization_id &&
      (grant.project_id === null || grant.project_id === project_id),
  )
}

/** The scope of the innermost ancestor that exists; undefined when not even the organization does. */
function nearestScope({ resources }: State, desired: DesiredResource): Scope | undefined {
  for (let path = parentPath(desired); path; path = ancestorPath(path)) {
    const stored = resources.get(keyOf(path))
    if (stored) return stored.scope
  }
  return undefined
}

function ancestorPath(path: readonly string[]): readonly string[] | undefined {
  if (path[0] === 'organization') return undefined
  if (path[0] === 'project') return ['organization']
  return path.length === 2 ? ['project'] : path.slice(0, -2)
}
