import { sql, type Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { insertGrants, type MemberDeps } from './add-member.ts'
import { type Held, holdMembers, isOwning, lackingFor, loadHeld } from './authority.ts'
import { describeGrants } from './describe-grants.ts'
import { pendingIn, voidLinksOfOthers } from './invitations.ts'
import { versionOf } from './list-members.ts'
import type { MemberOutcome, Refusal, RemovalOutcome } from './outcomes.ts'
import { isSameGrant, type NewGrant, resolveGrant } from './resolve-grant.ts'
import type { GrantInput, MemberChange } from './schemas.ts'

/** Replaces all that a member has been given; whoever does so needs what they take as well as what they give. */
export async function changeMember(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  userId: number,
  wish: MemberChange,
  ifMatch?: string,
): Promise<MemberOutcome> {
  const member = await holdMember(trx, organizationId, userId)
  if (!member) return { kind: 'gone' }
  const { held, email } = member
  if (isOutdated(ifMatch, versionOf(held))) return { kind: 'changed-meanwhile' }
  const authority = await loadHeld(trx, caller.id, organizationId)
  const wished = await resolveAll(trx, authority, organizationId, wish.grants)
  if (!Array.isArray(wished)) return wished

  const removed = held.filter((one) => !wished.some((other) => isSameGrant(one, other)))
  const added = wished.filter((one) => !held.some((other) => isSameGrant(one, other)))
  if (removed.length === 0 && added.length === 0) return { kind: 'done', userId }
  const permissions = lackingFor(authority, [...removed, ...added])
  if (permissions.length > 0) return { kind: 'lacking', permissions }
  if (await wouldLoseLastOwner(trx, organizationId, userId, removed)) return { kind: 'last-owner' }

  const before = { grants: await describeGrants(trx, held) }
  await deleteGrants(trx, removed)
  await insertGrants(trx, userId, added)
  await voidLinksOfOthers(trx, userId, caller.id)
  await passOwnership(trx, organizationId)
  const subject = { type: 'member', id: userId, name: email }
  const after = { grants: await describeGrants(trx, wished) }
  await recordAudit(trx, actor, { organizationId, verb: 'changed', subject, before, after })
  return { kind: 'done', userId }
}

/** Takes everything from a member. An account that was never used goes altogether: nobody could enter it. */
export async function removeMember(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  userId: number,
  ifMatch?: string,
): Promise<RemovalOutcome> {
  const member = await holdMember(trx, organizationId, userId)
  if (!member) return { kind: 'gone' }
  const { held, email } = member
  if (isOutdated(ifMatch, versionOf(held))) return { kind: 'changed-meanwhile' }
  const permissions = lackingFor(await loadHeld(trx, caller.id, organizationId), held)
  if (permissions.length > 0) return { kind: 'lacking', permissions }
  if (await wouldLoseLastOwner(trx, organizationId, userId, held)) return { kind: 'last-owner' }

  const before = { grants: await describeGrants(trx, held) }
  await deleteGrants(trx, held)
  await passOwnership(trx, organizationId)
  if ((await pendingIn(trx, userId)) === organizationId)
    await trx.deleteFrom('users').where('id', '=', userId).execute()
  const subject = { type: 'member', id: userId, name: email }
  await recordAudit(trx, actor, { organizationId, verb: 'removed', subject, before, after: null })
  return { kind: 'removed' }
}

async function holdMember(
  trx: Transaction<Tables>,
  organizationId: number,
  userId: number,
): Promise<{ held: Held[]; email: string } | undefined> {
  if (!(await holdMembers(trx, organizationId))) return undefined
  const account = await trx
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  const held = await loadHeld(trx, userId, organizationId)
  return account && held.length > 0 ? { held, email: account.email } : undefined
}

/** All of them, each once; or every fault at once. */
async function resolveAll(
  trx: Transaction<Tables>,
  authority: readonly Held[],
  organizationId: number,
  wishes: readonly GrantInput[],
): Promise<NewGrant[] | Refusal> {
  const errors: ErrorsByField = {}
  const missing: string[] = []
  const grants: NewGrant[] = []
  for (const [index, wish] of wishes.entries()) {
    const resolved = await resolveGrant(trx, authority, organizationId, wish)
    if (resolved.kind === 'invalid') errors[`grants.${index}.${resolved.field}`] = [resolved.message]
    else if (resolved.kind === 'missing') missing.push(`grants.${index}.${resolved.field}`)
    else if (!grants.some((one) => isSameGrant(one, resolved.grant))) grants.push(resolved.grant)
  }
  if (missing.length > 0) return { kind: 'missing', fields: missing }
  return Object.keys(errors).length > 0 ? { kind: 'invalid', errors } : grants
}

async function deleteGrants(trx: Transaction<Tables>, grants: readonly Held[]): Promise<void> {
  const ids = grants.map(({ id }) => id)
  await trx.deleteFrom('grants').where(anyOf('id', ids)).execute()
}

/** The owners of the whole organization who can act: accounts in use. */
function ownersOf(trx: Transaction<Tables>, organizationId: number) {
  return trx
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.user_id')
    .select('grants.user_id')
    .where('grants.organization_id', '=', organizationId)
    .where('grants.built_in_role', '=', 'owner')
    .where('grants.project_id', 'is', null)
    .where('users.active', '=', true)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('invitations').select('id').whereRef('invitations.user_id', '=', 'users.id'))),
    )
    .orderBy('grants.id')
}

async function wouldLoseLastOwner(
  trx: Transaction<Tables>,
  organizationId: number,
  userId: number,
  removed: readonly Held[],
): Promise<boolean> {
  if (!removed.some(isOwning)) return false
  const others = await ownersOf(trx, organizationId).where('grants.user_id', '<>', userId).execute()
  return others.length === 0
}

/** Whoever the organization names as its owner is one; else the one who has been for the longest time. */
async function passOwnership(trx: Transaction<Tables>, organizationId: number): Promise<void> {
  const owners = await ownersOf(trx, organizationId).execute()
  const ids = owners.map((row) => row.user_id)
  if (ids.length === 0) return
  await trx
    .updateTable('organizations')
    .set({ owner_id: ids[0]!, updated_at: sql<string>`now()` })
    .where('id', '=', organizationId)
    .where('owner_id', 'not in', ids)
    .execute()
}
