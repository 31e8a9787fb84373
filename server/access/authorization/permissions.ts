// Authorization: who is calling, and what they may do. This file is the whole rule; docs/permissions.md shows it as
// tables, and a test compares the two.

export const RESOURCES = [
  'organization',
  'project',
  'environment',
  'credential',
  'application',
  'server',
  'pipeline',
  'hook',
  'action',
  'member',
] as const
export const VERBS = ['view', 'add', 'edit', 'remove', 'run'] as const

export type Resource = (typeof RESOURCES)[number]
type Verb = (typeof VERBS)[number]
/** Approving is about runs only. */
export type Permission = `${Resource}:${Verb}` | 'action:approve'

const APPROVE = ['action:approve'] as const

export const PERMISSIONS: readonly Permission[] = RESOURCES.flatMap((resource) => [
  ...VERBS.map((verb): Permission => `${resource}:${verb}`),
  ...(resource === 'action' ? APPROVE : []),
])

export const BUILT_IN_ROLES = ['owner', 'admin', 'developer', 'viewer'] as const
export type BuiltInRole = (typeof BUILT_IN_ROLES)[number]

const views = PERMISSIONS.filter((permission) => permission.endsWith(':view'))

/** What each built-in role allows, in the scope it is granted in and below. */
export const ROLE_PERMISSIONS: Record<BuiltInRole, ReadonlySet<Permission>> = {
  owner: new Set(PERMISSIONS),
  admin: new Set(PERMISSIONS.filter((permission) => permission !== 'organization:remove')),
  developer: new Set<Permission>([
    ...views,
    'application:add',
    'application:edit',
    'pipeline:add',
    'pipeline:edit',
    'pipeline:run',
    'hook:add',
    'hook:edit',
    'hook:remove',
    'server:run',
  ]),
  viewer: new Set(views),
}

/** A role that a user holds in one scope: an organization, a project or an environment. */
export type Grant = {
  permissions: ReadonlySet<string>
  organization_id: number
  project_id: number | null
  environment_id: number | null
}

/** What an object belongs to. A project has no environment, an organization has neither. */
export type Scope = { organization_id: number; project_id?: number | null; environment_id?: number | null }

/** A grant covers its own scope and everything below it, nothing else. */
export function can(user: { grants: readonly Grant[] }, permission: Permission, scope: Scope): boolean {
  return user.grants.some((grant) => grant.permissions.has(permission) && covers(grant, scope))
}

function covers(grant: Grant, scope: Scope): boolean {
  if (grant.organization_id !== scope.organization_id) return false
  if (grant.project_id !== null && grant.project_id !== scope.project_id) return false
  return grant.environment_id === null || grant.environment_id === scope.environment_id
}
