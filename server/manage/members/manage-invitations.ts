import { sql } from 'kysely'
import { type Creation, type Removal, type Requester, recordAudit } from '#access/audit/record.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, conflict, GONE, REMOVED } from '#platform/http/problems.ts'
import { checkAuthority, describeGrants, loadGrants, lockMembers, resolveGrants } from './grants.ts'
import type { InvitationBody } from './invitation-schemas.ts'
import { findInvitation, type InvitationRow, loadOffer } from './invitations.ts'

const LIFE = sql<string>`now() + interval '7 days'`

/**
 * Invites an address, in place of an earlier invitation of it. Whether the address has an account, or invitations to
 * other organizations, changes neither the outcome nor the work done.
 */
export async function createInvitation(trx: Transaction, request: Creation<InvitationBody>) {
  const { parentId: organizationId, body: input, caller, actor } = request
  if (!(await lockMembers(trx, organizationId))) return GONE
  const authority = await loadGrants(trx, caller.id, organizationId)
  const resolved = await resolveGrants(trx, authority, organizationId, [input])
  if (resolved.kind !== 'resolved') return resolved
  const { grants } = resolved
  const earlier = await findInvitation(trx, organizationId, { email: input.email })
  const replaced = earlier && !earlier.is_expired ? await loadOffer(trx, earlier.id) : []
  const problem = checkAuthority(authority, [...grants, ...replaced])
  if (problem) return problem
  if (await isMember(trx, organizationId, input.email))
    return conflict('This person is already a member. To give them another role, change the member.')

  if (earlier) await deleteInvitation(trx, request, earlier)
  const token = `gty_in_${newUrlToken()}`
  const { id } = await trx
    .insertInto('invitations')
    .values({
      organization_id: organizationId,
      email: input.email,
      name: input.name ?? null,
      invited_by: caller.id,
      hash: hashToken(token),
      expires_at: LIFE,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const offered = grants.map(({ permissions, ...grant }) => ({ ...grant, invitation_id: id }))
  await trx.insertInto('invitation_grants').values(offered).execute()
  await recordAudit(trx, actor, {
    organizationId,
    verb: 'created',
    subject: { type: 'invitation', id, name: input.email },
    before: null,
    after: { grants: await describeGrants(trx, grants) },
  })
  return { kind: 'done' as const, row: (await findInvitation(trx, organizationId, { id }))!, token }
}

/** The link stops working. The caller must hold what it offers. */
export async function removeInvitation(trx: Transaction, request: Removal) {
  const { parentId: organizationId, id, caller, ifMatch } = request
  if (!(await lockMembers(trx, organizationId))) return GONE
  const row = await findInvitation(trx, organizationId, { id })
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const offer = row.is_expired ? [] : await loadOffer(trx, id)
  const problem = checkAuthority(await loadGrants(trx, caller.id, organizationId), offer)
  if (problem) return problem
  await deleteInvitation(trx, request, row)
  return REMOVED
}

async function deleteInvitation(trx: Transaction, { actor }: Requester, row: InvitationRow): Promise<void> {
  const { id, organization_id: organizationId, email: name } = row
  const before = { grants: await describeGrants(trx, await loadOffer(trx, id)) }
  await trx.deleteFrom('invitations').where('id', '=', id).execute()
  const subject = { type: 'invitation', id, name }
  await recordAudit(trx, actor, { organizationId, verb: 'removed', subject, before, after: null })
}

async function isMember(trx: Transaction, organizationId: number, email: string): Promise<boolean> {
  const found = await trx
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.user_id')
    .select('grants.id')
    .where('grants.organization_id', '=', organizationId)
    .where(sql`lower(users.email)`, '=', email.toLowerCase())
    .executeTakeFirst()
  return found !== undefined
}
