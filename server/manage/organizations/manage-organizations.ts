import { isDeepStrictEqual } from 'node:util'
import { sql, type Transaction } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { insertUnderSlug } from '#platform/slug.ts'
import { describeDependents } from './dependents.ts'
import type { RemoveOutcome, SaveOutcome } from './outcomes.ts'
import type { OrganizationBody, OrganizationChange } from './schemas.ts'

export type ManageDeps = { actor: Actor }

/** Whoever makes an organization owns it. */
export async function createOrganization(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  caller: Pick<Caller, 'id'>,
  { name }: OrganizationBody,
): Promise<SaveOutcome> {
  const { id } = await insertUnderSlug(name, (url_slug) =>
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
  const subject = { type: 'organization', id, name }
  await recordAudit(trx, actor, {
    organizationId: id,
    verb: 'created',
    subject,
    before: null,
    after: { name },
  })
  return done(trx, id)
}

/** The slug stays when the name changes: people have kept addresses with it. */
export async function changeOrganization(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  wish: OrganizationChange,
  ifMatch?: string,
): Promise<SaveOutcome> {
  const row = await findOrganization(trx, id, { lock: true })
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const before = { name: row.name }
  const after = { ...before, ...wish }
  if (isDeepStrictEqual(before, after)) return { kind: 'done', row }
  await trx
    .updateTable('organizations')
    .set({ ...after, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  const subject = { type: 'organization', id, name: after.name }
  await recordAudit(trx, actor, { organizationId: id, verb: 'changed', subject, before, after })
  return done(trx, id)
}

/** Only an empty one; its members lose their roles with it. */
export async function removeOrganization(
  trx: Transaction<Tables>,
  { actor }: ManageDeps,
  id: number,
  ifMatch?: string,
): Promise<RemoveOutcome> {
  const row = await findOrganization(trx, id, { lock: true })
  if (!row) return { kind: 'gone' }
  if (isOutdated(ifMatch, row.row_version)) return { kind: 'changed-meanwhile' }
  const by = describeDependents({
    projects: await namesIn(trx, 'projects', id),
    credentials: await namesIn(trx, 'credentials', id),
  })
  if (by) return { kind: 'in-use', by }
  await removePendingAccounts(trx, id)
  await trx.deleteFrom('grants').where('organization_id', '=', id).execute()
  await trx.deleteFrom('roles').where('organization_id', '=', id).execute()
  await trx
    .updateTable('organizations')
    .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  const { name } = row
  const subject = { type: 'organization', id, name }
  await recordAudit(trx, actor, {
    organizationId: id,
    verb: 'removed',
    subject,
    before: { name },
    after: null,
  })
  return { kind: 'removed' }
}

export function findOrganization(db: Database, id: number, options: { lock?: boolean } = {}) {
  const query = db
    .selectFrom('organizations')
    .select((eb) => ['id', 'name', 'owner_id', eb.ref('organizations.xmin' as 'id').as('row_version')])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .$castTo<{ id: number; name: string; owner_id: number; row_version: string }>()
  return (options.lock ? query.forNoKeyUpdate() : query).executeTakeFirst()
}

function namesIn(trx: Transaction<Tables>, table: 'projects' | 'credentials', organizationId: number) {
  return trx
    .selectFrom(table)
    .select('name')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()
}

/**
 * Accounts that were made for people who have not come: nobody could enter them any more. Held first, because
 * somebody may be coming at this moment.
 */
async function removePendingAccounts(trx: Transaction<Tables>, organizationId: number): Promise<void> {
  const held = await trx
    .selectFrom('users')
    .innerJoin('invitations', 'invitations.user_id', 'users.id')
    .select('users.id')
    .where('invitations.organization_id', '=', organizationId)
    .forUpdate('users')
    .execute()
  const ids = held.map((row) => row.id)
  await trx
    .deleteFrom('users')
    .where(anyOf('id', ids))
    .where('id', 'in', (eb) => eb.selectFrom('invitations').select('user_id'))
    .execute()
}

async function done(trx: Transaction<Tables>, id: number): Promise<SaveOutcome> {
  return { kind: 'done', row: (await findOrganization(trx, id))! }
}
