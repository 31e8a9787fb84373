import type { Transaction } from '#platform/database/connect.ts'

// A transaction that adds something to a scope locks the scope first: until it ends, nobody can remove the scope
// without seeing the addition. Undefined: the scope does not exist.

export function lockOrganization(trx: Transaction, id: number) {
  return trx
    .selectFrom('organizations')
    .select('id as organization_id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forShare()
    .executeTakeFirst()
}

export function lockProject(trx: Transaction, id: number) {
  return trx
    .selectFrom('projects')
    .select(['organization_id', 'id as project_id'])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forShare()
    .executeTakeFirst()
}

/** Locks the project first, like every change of an environment: two transactions cannot deadlock. */
export async function lockEnvironmentScope(trx: Transaction, id: number) {
  const seen = await trx
    .selectFrom('environments')
    .select('project_id')
    .where('id', '=', id)
    .executeTakeFirst()
  if (!seen || !(await lockProject(trx, seen.project_id))) return undefined
  return trx
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['projects.organization_id', 'environments.project_id', 'environments.id as environment_id'])
    .where('environments.id', '=', id)
    .where('environments.deleted_at', 'is', null)
    .forShare('environments')
    .executeTakeFirst()
}
