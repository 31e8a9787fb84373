// Roles as the pages know them: the permissions that routes ask for, as a table, and the built-in roles in words. Pure.
import type { components } from '#client/index.ts'

export type Permission = NonNullable<components['schemas']['CreateRoleRequest']['permissions']>[number]

export const VERBS = ['view', 'add', 'edit', 'remove', 'run', 'approve'] as const
export type Verb = (typeof VERBS)[number]

export const VERB_LABELS: Record<Verb, string> = {
  view: 'View',
  add: 'Add',
  edit: 'Edit',
  remove: 'Remove',
  run: 'Run, use',
  approve: 'Approve',
}

/** Permissions that no route asks for are left out. A role that has one keeps it. */
export const PERMISSION_TABLE: { resource: string; label: string; verbs: readonly Verb[] }[] = [
  { resource: 'action', label: 'Runs', verbs: ['view', 'approve'] },
  { resource: 'pipeline', label: 'Pipelines', verbs: ['view', 'add', 'edit', 'remove', 'run'] },
  { resource: 'hook', label: 'Hooks', verbs: ['view', 'add', 'edit', 'remove'] },
  { resource: 'application', label: 'Applications', verbs: ['view', 'add', 'edit', 'remove'] },
  { resource: 'server', label: 'Servers', verbs: ['view', 'add', 'edit', 'remove', 'run'] },
  { resource: 'credential', label: 'Credentials', verbs: ['view', 'add', 'edit', 'remove', 'run'] },
  { resource: 'environment', label: 'Environments', verbs: ['view', 'add', 'edit', 'remove'] },
  { resource: 'project', label: 'Projects', verbs: ['view', 'add', 'edit', 'remove'] },
  { resource: 'member', label: 'Members', verbs: ['view', 'add', 'edit', 'remove'] },
  { resource: 'organization', label: 'Organization', verbs: ['view', 'edit', 'remove'] },
]

export const LISTED_PERMISSIONS = PERMISSION_TABLE.flatMap(({ resource, verbs }) =>
  verbs.map((verb) => permissionOf(resource, verb)),
)

export function permissionOf(resource: string, verb: Verb): Permission {
  return `${resource}:${verb}` as Permission
}

/** "Edit servers": what the checkbox of a permission is called. */
export function permissionLabel(resource: string, verb: Verb): string {
  const { label } = PERMISSION_TABLE.find((row) => row.resource === resource)!
  return `${VERB_LABELS[verb]} ${label.toLowerCase()}`
}

/** What everybody may be who may see anything. */
export const VIEWER_PERMISSIONS = LISTED_PERMISSIONS.filter((permission) => permission.endsWith(':view'))

export function togglePermission(permissions: readonly Permission[], one: Permission): Permission[] {
  return permissions.includes(one) ? permissions.filter((other) => other !== one) : [...permissions, one]
}

export type BuiltInRole = 'owner' | 'admin' | 'developer' | 'viewer'

/** From the one that may do least. */
export const BUILT_IN_ROLES: { role: BuiltInRole; label: string; description: string }[] = [
  {
    role: 'viewer',
    label: 'Viewer',
    description: 'Sees everything, except secrets. Changes and runs nothing.',
  },
  {
    role: 'developer',
    label: 'Developer',
    description: 'Runs pipelines; adds and edits applications, pipelines and hooks.',
  },
  {
    role: 'admin',
    label: 'Admin',
    description: 'Does everything, members included, except removing the organization.',
  },
  { role: 'owner', label: 'Owner', description: 'Does everything.' },
]

/** "View 10, edit 3, run 1", or what it is called when it is everything. */
export function summarizePermissions(permissions: readonly string[]): string {
  const listed = LISTED_PERMISSIONS.filter((one) => permissions.includes(one))
  if (listed.length === 0) return 'Nothing'
  if (listed.length === LISTED_PERMISSIONS.length) return 'Everything'
  return PERMISSION_TABLE.flatMap(({ resource, label, verbs }) => {
    const held = verbs.filter((verb) => listed.includes(permissionOf(resource, verb)))
    return held.length === 0 ? [] : [`${label}: ${held.join(', ')}`]
  }).join(' · ')
}
