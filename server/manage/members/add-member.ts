import { sql, type Transaction } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import type { Tables } from '#platform/database/tables.ts'
import { insertUnderSlug } from '#platform/slug.ts'
import { holdMembers, lackingFor, loadHeld } from './authority.ts'
import { describeGrants } from './describe-grants.ts'
import { invite, pendingIn } from './invitations.ts'
import type { MemberOutcome } from './outcomes.ts'
import { isSameGrant, type NewGrant, resolveGrant } from './resolve-grant.ts'
import type { MemberBody } from './schemas.ts'

export type MemberDeps = { actor: Actor }

/**
 * Gives a person a role. An account that exists only gets the role; otherwise one is made, without a password,
 * and with a link by which its person chooses one.
 */
export async function addMember(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  wish: MemberBody,
): Promise<MemberOutcome> {
  if (!(await holdMembers(trx, organizationId))) return { kind: 'gone' }
  const authority = await loadHeld(trx, caller.id, organizationId)
  const resolved = await resolveGrant(trx, authority, organizationId, wish)
  if (resolved.kind === 'invalid')
    return { kind: 'invalid', errors: { [resolved.field]: [resolved.message] } }
  if (resolved.kind === 'missing') return { kind: 'missing', fields: [resolved.field] }

  const known = await findAccount(trx, wish.email)
  const invitedBy = known && (await pendingIn(trx, known.id))
  const isPending = invitedBy !== undefined
  const held = known ? await loadHeld(trx, known.id, organizationId) : []
  // Whoever gets a link gets all that the account has been given before.
  const permissions = lackingFor(authority, isPending ? [resolved.grant, ...held] : [resolved.grant])
  if (permissions.length > 0) return { kind: 'lacking', permissions }
  if (isPending && invitedBy !== organizationId) return { kind: 'invited-elsewhere' }
  const isHeld = held.some((one) => isSameGrant(one, resolved.grant))
  if (isHeld && !isPending) return { kind: 'already' }

  const { id: userId, email } = known ?? (await createAccount(trx, wish))
  if (!isHeld) await insertGrants(trx, userId, [resolved.grant])
  const needsLink = !known || isPending
  const link = needsLink ? await invite(trx, { userId, organizationId, invitedBy: caller.id }) : undefined
  await recordAudit(trx, actor, {
    organizationId,
    verb: held.length === 0 ? 'created' : 'changed',
    subject: { type: 'member', id: userId, name: email },
    before: held.length === 0 ? null : { grants: await describeGrants(trx, held) },
    after: {
      grants: await describeGrants(trx, isHeld ? held : [...held, resolved.grant]),
      ...(needsLink && { invited: true }),
    },
  })
  return { kind: 'done', userId, link }
}

/** Makes a new link for somebody who has not come yet; earlier ones stop working. */
export async function inviteAgain(
  trx: Transaction<Tables>,
  { actor }: MemberDeps,
  caller: Pick<Caller, 'id'>,
  organizationId: number,
  userId: number,
): Promise<MemberOutcome> {
  if (!(await holdMembers(trx, organizationId))) return { kind: 'gone' }
  const held = await loadHeld(trx, userId, organizationId)
  const account = await trx
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (held.length === 0 || !account) return { kind: 'gone' }
  const permissions = lackingFor(await loadHeld(trx, caller.id, organizationId), held)
  if (permissions.length > 0) return { kind: 'lacking', permissions }
  if ((await pendingIn(trx, userId)) !== organizationId) return { kind: 'has-joined' }
  const link = await invite(trx, { userId, organizationId, invitedBy: caller.id })
  const subject = { type: 'member', id: userId, name: account.email }
  await recordAudit(trx, actor, { organizationId, verb: 'invited', subject, before: null, after: null })
  return { kind: 'done', userId, link }
}

export async function insertGrants(
  trx: Transaction<Tables>,
  userId: number,
  grants: readonly NewGrant[],
): Promise<void> {
  if (grants.length === 0) return
  const rows = grants.map(({ permissions, ...grant }) => ({ ...grant, user_id: userId }))
  await trx.insertInto('grants').values(rows).execute()
}

type Account = { id: number; email: string }

/**
 * One at a time for each address: two organizations may add the same new person at once. And locked: an
 * invitation is not accepted while the account is given more.
 */
async function findAccount(trx: Transaction<Tables>, email: string): Promise<Account | undefined> {
  const address = email.toLowerCase()
  await sql`select pg_advisory_xact_lock(hashtextextended('account ' || ${address}::text, 0))`.execute(trx)
  return trx
    .selectFrom('users')
    .select(['id', 'email'])
    .where(sql`lower(email)`, '=', address)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

async function createAccount(trx: Transaction<Tables>, { email, name }: MemberBody): Promise<Account> {
  const called = name ?? email.split('@')[0]!
  return insertUnderSlug(called, (url_slug) =>
    trx
      .insertInto('users')
      .values({ name: called, email, url_slug })
      .onConflict((conflict) => conflict.column('url_slug').doNothing())
      .returning(['id', 'email'])
      .executeTakeFirst(),
  )
}
