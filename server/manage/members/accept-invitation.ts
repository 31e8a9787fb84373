import { sql } from 'kysely'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { type SignInClient, type StartedSession, startSession } from '#access/accounts/start-session.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'
import { type Claimant, checkHolder, claimInvitation, type SignInRequired } from './claim-invitation.ts'
import type { AcceptInvitationBody, ShownInvitation } from './invitation-schemas.ts'
import { findByLink, NOT_VALID } from './invitations.ts'

/** What the holder of a link is invited to. */
export async function readInvitation(
  db: Database,
  token: string,
): Promise<{ kind: 'shown'; invitation: ShownInvitation } | HttpProblem> {
  const found = await findByLink(db, hashToken(token))
  if (!found) return NOT_VALID
  const { organization_name, email, name, expires_at } = found
  const grants = await nameOffer(db, found.id)
  const account = found.account ? 'existing' : 'new'
  return { kind: 'shown', invitation: { organization_name, email, name, grants, account, expires_at } }
}

/** Signs in somebody new; the holder of an existing account is signed in already. */
export async function acceptInvitation(
  db: Database,
  { token, name, password }: AcceptInvitationBody,
  caller: Caller | null,
  client: SignInClient,
  lifetimes: TokenLifetimes,
): Promise<{ kind: 'done'; userId: number; session: StartedSession | null } | SignInRequired | HttpProblem> {
  const linkHash = hashToken(token)
  const seen = await findByLink(db, linkHash)
  if (!seen) return NOT_VALID
  if (caller?.token.kind === 'personal')
    return { kind: 'forbidden', reason: 'Personal access tokens cannot accept invitations.' }
  const problem = checkHolder(seen, caller?.id ?? null) ?? checkFields({ name, password }, caller === null)
  if (problem) return problem
  // Before anything is locked: it is slow on purpose.
  const claimant: Claimant = caller
    ? { kind: 'signed-in', userId: caller.id }
    : { kind: 'newcomer', name, passwordHash: await hashPassword(password!) }
  return db.transaction().execute(async (trx) => {
    const claimed = await claimInvitation(trx, linkHash, claimant, client)
    if (claimed.kind !== 'claimed') return claimed
    const { userId } = claimed
    const session = caller ? null : (await startSession(trx, userId, 'invitation', client, lifetimes))!
    return { kind: 'done' as const, userId, session }
  })
}

/** Pure. */
function checkFields(
  fields: Pick<AcceptInvitationBody, 'name' | 'password'>,
  isNew: boolean,
): HttpProblem | undefined {
  const errors = new FieldErrors()
  if (isNew && fields.password === undefined) errors.add('password', 'is required for a new account')
  for (const [field, value] of Object.entries(fields))
    if (!isNew && value !== undefined) errors.add(field, 'is only for a new account: leave it out')
  return errors.problem
}

function nameOffer(db: Database, invitationId: number): Promise<ShownInvitation['grants']> {
  return db
    .selectFrom('invitation_grants as offer')
    .leftJoin('roles', 'roles.id', 'offer.role_id')
    .leftJoin('projects', 'projects.id', 'offer.project_id')
    .leftJoin('environments', 'environments.id', 'offer.environment_id')
    .select([sql<string>`coalesce(roles.name, offer.built_in_role)`.as('role_name')])
    .select(['projects.name as project_name', 'environments.name as environment_name'])
    .where('offer.invitation_id', '=', invitationId)
    .orderBy('offer.id')
    .execute()
}
