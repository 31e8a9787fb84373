// A role in a scope, as forms hold it and as the API takes it. Pure.
import type { components } from '#client/index.ts'
import { BUILT_IN_ROLES } from './roles.ts'

type GrantBody = components['schemas']['ChangeMemberRequest']['grants'][number]

/** `role` is a built-in role, or the id of a custom one; `scope` is empty, `project:3` or `environment:7`. */
export type GrantInput = { role: string; scope: string }

export type StoredGrant = Pick<
  components['schemas']['OfferedGrant'],
  'role' | 'role_id' | 'role_name' | 'project_id' | 'environment_id'
>

export const NEW_GRANT: GrantInput = { role: 'viewer', scope: '' }

export function toGrantInput({ role, role_id, project_id, environment_id }: StoredGrant): GrantInput {
  const scope =
    environment_id !== null
      ? `environment:${environment_id}`
      : project_id !== null
        ? `project:${project_id}`
        : ''
  return { role: role ?? String(role_id), scope }
}

export function toGrantBody({ role, scope }: GrantInput): GrantBody {
  const [kind, id] = scope.split(':')
  const builtIn = BUILT_IN_ROLES.find((one) => one.role === role)
  return {
    ...(builtIn ? { role: builtIn.role } : { role_id: Number(role) }),
    ...(kind === 'project' && { project_id: Number(id) }),
    ...(kind === 'environment' && { environment_id: Number(id) }),
  }
}

/** The same role twice in the same scope is one. */
export function withoutDuplicates(grants: readonly GrantInput[]): GrantInput[] {
  const keyOf = ({ role, scope }: GrantInput) => `${role} ${scope}`
  return [...new Map(grants.map((grant) => [keyOf(grant), grant])).values()]
}

export type ScopeNames = {
  projects: ReadonlyMap<number, string>
  environments: ReadonlyMap<number, { name: string; projectId: number | null }>
}

/** "Web shop / Production", "Web shop"; undefined is the whole organization. */
export function scopeName(
  { project_id, environment_id }: Pick<StoredGrant, 'project_id' | 'environment_id'>,
  { projects, environments }: ScopeNames,
): string | undefined {
  if (environment_id !== null) {
    const environment = environments.get(environment_id)
    if (!environment) return `environment ${environment_id}`
    const project = projects.get(environment.projectId ?? 0)
    return project === undefined ? environment.name : `${project} / ${environment.name}`
  }
  if (project_id !== null) return projects.get(project_id) ?? `project ${project_id}`
  return undefined
}

/** Every scope, each project followed by its environments. */
export function scopeChoices(names: ScopeNames): { value: string; label: string }[] {
  const choices = [...names.projects].flatMap(([id, name]) => [
    { value: `project:${id}`, label: name },
    ...[...names.environments]
      .filter(([, environment]) => environment.projectId === id)
      .map(([environment_id]) => ({
        value: `environment:${environment_id}`,
        label: scopeName({ project_id: id, environment_id }, names)!,
      })),
  ])
  return [{ value: '', label: 'Whole organization' }, ...choices]
}

/** Roles that the API calls by lower-case words have a label of their own. */
export function roleLabel({ role, role_name }: Pick<StoredGrant, 'role' | 'role_name'>): string {
  return BUILT_IN_ROLES.find((one) => one.role === role)?.label ?? role_name
}
