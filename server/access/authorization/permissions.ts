// The access room: who calls, and what they may do. This file is the whole rule; docs/permissions.md
// shows it as tables, and a test holds the two together.

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
export type Verb = (typeof VERBS)[number]
export type Permission = `${Resource}:${Verb}`

export const PERMISSIONS: readonly Permission[] = RESOURCES.flatMap((resource) =>
  VERBS.map((verb): Permission => `${resource}:${verb}`),
)

export const BUILT_IN_ROLES = ['owner', 'admin', 'developer', 'viewer'] as const
export type BuiltInRole = (typeof BUILT_IN_ROLES)[number]

const views = PERMISSIONS.filter((permission) => permission.endsWith(':view'))

/** What each built-in role may do, wherever it is granted and below. */
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

/** A role that a user holds at one place of the tree: an organization, a project of it, an environment of that. */
export type Grant = {
  permissions: ReadonlySet<string>
  organization_id: number
  project_id: number | null
  environment_id: number | null
}

/** Where something stands in the tree. A project has no environment, an organization neither. */
export type Scope = { organization_id: number; project_id?: number | null; environment_id?: number | null }

/** A grant reaches its own place and everything below; never what lies above or beside. */
export function can(user: { grants: readonly Grant[] }, permission: Permission, where: Scope): boolean {
  return user.grants.some((grant) => grant.permissions.has(permission) && reaches(grant, where))
}

function reaches(grant: Grant, where: Scope): boolean {
  if (grant.organization_id !== where.organization_id) return false
  if (grant.project_id !== null && grant.project_id !== where.project_id) return false
  return grant.environment_id === null || grant.environment_id === where.environment_id
}
