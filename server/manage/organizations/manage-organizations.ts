import { isDeepStrictEqual } from 'node:util'
import { sql, type Transaction, type UpdateObject } from 'kysely'
import { type Actor, auditorOf } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { rowVersion } from '#platform/database/rows.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, type HttpProblem, listNames } from '#platform/http/problems.ts'
import { insertWithSlug } from '#platform/slug.ts'
import type { OrganizationBody, OrganizationChange } from './schemas.ts'

export type ManageDeps = { actor: Actor }

export type Saved = { kind: 'done'; row: { id: number; row_version: string } } | HttpProblem
export type Removed = { kind: 'removed' } | HttpProblem

const audit = auditorOf<OrganizationRow>('organization', ['name'])

/** The caller becomes its owner. */
export async function createOrganization(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'id'>,
  { name }: OrganizationBody,
): Promise<Saved> {
  const { id } = await insertWithSlug(name, (url_slug) =>
    trx
      .insertInto('organizations')
      .values({ name, url_slug, owner_id: caller.id })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst(),
  )
  await trx
    .insertInto('grants')
    .values({ user_id: caller.id, built_in_role: 'owner', organization_id: id })
    .execute()
  const row = (await findOrganization(trx, id))!
  await audit(trx, actor, id, null, row)
  return { kind: 'done', row }
}

/** The slug stays when the name changes: URLs with it are in use. */
export async function changeOrganization(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  input: OrganizationChange,
  ifMatch?: string,
): Promise<Saved> {
  const before = await findOrganization(trx, id, { lock: true })
  if (!before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  if (!changes(before, input)) return { kind: 'done', row: before }
  await update(trx, 'organizations', id, input)
  const row = (await findOrganization(trx, id))!
  await audit(trx, actor, id, before, row)
  return { kind: 'done', row }
}

/** Only an empty one; its members lose their roles in it. */
export async function removeOrganization(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  ifMatch?: string,
): Promise<Removed> {
  const row = await findOrganization(trx, id, { lock: true })
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const problem = notEmpty('organization', {
    projects: await loadNames(trx, 'projects', 'organization_id', id),
    credentials: await loadNames(trx, 'credentials', 'organization_id', id),
  })
  if (problem) return problem
  await removePendingAccounts(trx, id)
  await trx.deleteFrom('grants').where('organization_id', '=', id).execute()
  await trx.deleteFrom('roles').where('organization_id', '=', id).execute()
  await update(trx, 'organizations', id, { deleted_at: sql<string>`now()` })
  await audit(trx, actor, id, row, null)
  return { kind: 'removed' }
}

type OrganizationRow = NonNullable<Awaited<ReturnType<typeof findOrganization>>>

export function findOrganization(db: Database, id: number, options: { lock?: boolean } = {}) {
  const query = db
    .selectFrom('organizations')
    .select(['id', 'name', 'owner_id', rowVersion('organizations')])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
  return (options.lock ? query.forNoKeyUpdate() : query).executeTakeFirst()
}

/**
 * Deletes accounts of invited people who have not joined: nobody could log in to them any more. Locked first, because
 * somebody may be accepting an invitation right now.
 */
async function removePendingAccounts(trx: Transaction<Tables>, organizationId: number): Promise<void> {
  const pending = await trx
    .selectFrom('users')
    .innerJoin('invitations', 'invitations.user_id', 'users.id')
    .select('users.id')
    .where('invitations.organization_id', '=', organizationId)
    .forUpdate('users')
    .execute()
  const ids = pending.map((row) => row.id)
  await trx
    .deleteFrom('users')
    .where(anyOf('id', ids))
    .where('id', 'in', (eb) => eb.selectFrom('invitations').select('user_id'))
    .execute()
}

// Shared by the three levels of the tree.

/** Pure: whether the input says anything that is not stored already. */
export function changes(stored: object, input: object): boolean {
  return !isDeepStrictEqual({ ...stored, ...input }, stored)
}

export async function update<Table extends 'organizations' | 'projects' | 'environments'>(
  trx: Transaction<Tables>,
  table: Table,
  id: number,
  columns: UpdateObject<Tables, Table>,
): Promise<void> {
  const changed = { ...columns, updated_at: sql<string>`now()` }
  // The three tables agree in what is used here; Kysely does not infer that of a union.
  await trx
    .updateTable(table as 'projects')
    .set(changed as UpdateObject<Tables, 'projects'>)
    .where('id', '=', id)
    .execute()
}

export function nameTaken(noun: string): HttpProblem {
  return { kind: 'invalid', errors: { name: [`is already taken by another ${noun}`] } }
}

/** Pure: what is still in something, each kind with a few names: `{ projects: ['2 projects: Shop, Blog'] }`. */
export function notEmpty(
  noun: string,
  contents: Record<string, readonly { name: string }[]>,
): HttpProblem | undefined {
  const errors = Object.fromEntries(
    Object.entries(contents)
      .filter(([, rows]) => rows.length > 0)
      .map(([kind, rows]) => [
        kind,
        [
          listNames(
            kind.replace(/s$/, ''),
            rows.map(({ name }) => name),
          ),
        ],
      ]),
  )
  const reasons = Object.values(errors).flat()
  return reasons.length === 0
    ? undefined
    : conflict(`The ${noun} is not empty: ${reasons.join('; ')}.`, errors)
}

export function loadNames(
  trx: Transaction<Tables>,
  table: 'projects' | 'credentials' | 'applications' | 'servers',
  column: 'organization_id' | 'environment_id',
  id: number,
): Promise<{ name: string }[]> {
  return trx
    .selectFrom(table)
    .select('name')
    .where(sql.ref(column), '=', id)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()
}
