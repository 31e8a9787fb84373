import { sql } from 'kysely'
import { BUILT_IN_ROLES, type BuiltInRole } from '#access/authorization/permissions.ts'
import { type ApprovalInput, wholeApproval } from '#model/gates/approval-terms.ts'
import { loadPeople } from '#model/gates/load-people.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { ApprovalTerms } from '#platform/database/tables.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'

// Who approves, in a document: users by their email addresses, roles by their names, built-in or custom.

export type NamedApprovers = { users?: string[]; roles?: string[] }
export type NamedApproval = Omit<ApprovalInput, 'from'> & { from?: NamedApprovers | null }

const isBuiltIn = (role: string): role is BuiltInRole => BUILT_IN_ROLES.some((one) => one === role)

/** With its defaults, and lists that compare equal whatever their order was. */
export function wholeNamedApproval(input: NamedApproval | null): object | null {
  if (input === null) return null
  const { from, ...given } = input
  return {
    ...wholeApproval(given),
    from: from
      ? { users: (from.users ?? []).map(lower).sort(), roles: [...(from.roles ?? [])].sort() }
      : null,
  }
}

const lower = (text: string) => text.toLowerCase()

/** What environments have stored, by names. */
export async function nameApprovers(
  db: Database,
  stored: readonly (ApprovalTerms | null)[],
): Promise<(object | null)[]> {
  const lists = stored.flatMap((terms) => terms?.from ?? [])
  const users = await namesOf(
    db,
    'users',
    'email',
    lists.flatMap(({ user_ids }) => user_ids),
  )
  const roles = await namesOf(
    db,
    'roles',
    'name',
    lists.flatMap(({ role_ids }) => role_ids),
  )
  return stored.map((terms) => {
    if (!terms?.from) return terms
    const { user_ids, role_ids, roles: builtIn } = terms.from
    const from = {
      users: user_ids.flatMap((id) => users.get(id) ?? []),
      roles: [...builtIn, ...role_ids.flatMap((id) => roles.get(id) ?? [])],
    }
    return wholeNamedApproval({ ...terms, from })
  })
}

async function namesOf(
  db: Database,
  table: 'users' | 'roles',
  column: 'email' | 'name',
  ids: readonly number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: number; name: string }>`
    select id, ${sql.ref(column)} as name from ${sql.table(table)} where id = any(${ids}::bigint[])`.execute(
    db,
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The ids of those whom a document names, where its environment is, or will be. */
export async function resolveApprovers(
  trx: Transaction,
  approval: NamedApproval,
  at: { organizationId: number } & ({ environmentId: number } | { projectId: number }),
): Promise<{ kind: 'resolved'; approval: ApprovalInput } | HttpProblem> {
  const { from, ...given } = approval
  if (!from) return { kind: 'resolved', approval: { ...given, from } }
  const { users = [], roles = [] } = from
  const errors = new FieldErrors()
  const people = users.length > 0 ? await loadPeople(trx, at) : []
  const byEmail = new Map(people.map(({ id, email }) => [lower(email), id]))
  const user_ids = users.flatMap((email) => {
    const id = byEmail.get(lower(email))
    if (id === undefined) errors.add('approval.from.users', `${email} has no role in the environment`)
    return id ?? []
  })
  const named = await trx
    .selectFrom('roles')
    .select(['id', 'name'])
    .where('organization_id', '=', at.organizationId)
    .execute()
  const byName = new Map(named.map(({ id, name }) => [name, id]))
  const role_ids = roles.flatMap((role) => {
    if (isBuiltIn(role)) return []
    const id = byName.get(role)
    if (id === undefined) errors.add('approval.from.roles', `there is no role ${role}`)
    return id ?? []
  })
  if (errors.any) return errors.problem!
  const ids = { user_ids: [...new Set(user_ids)], role_ids, roles: roles.filter(isBuiltIn) }
  return { kind: 'resolved', approval: { ...given, from: ids } }
}
