import { sql } from 'kysely'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { type SignInClient, startSession } from '#access/accounts/start-session.ts'
import { loadUser } from '#access/accounts/user-schema.ts'
import type { Actor } from '#access/audit/record.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { insertWithSlug } from '#platform/slug.ts'
import type { Purpose } from './attempts.ts'
import { isLinkedTo, linkIdentity, touchIdentity } from './identities.ts'
import type { Person } from './person.ts'

/** Why somebody is not signed in, as the sign-in page names it. */
export type ProblemCode =
  | 'sso_unavailable'
  | 'sso_rejected'
  | 'sso_expired'
  | 'sso_no_account'
  | 'sso_email_taken'
  | 'sso_identity_taken'

export type Refused = { kind: 'refused'; code: ProblemCode; reason: string; account?: Account }

export type SignInOutcome =
  | { kind: 'signed-in'; userId: number; token: string; skipped: readonly object[] }
  | { kind: 'linked'; userId: number }
  | Refused

type Account = { id: number; email: string }

type Claimant =
  | { kind: 'signed-in'; userId: number }
  | { kind: 'newcomer'; name: string | undefined; passwordHash: null }

export type SignInDeps = {
  db: Database
  lifetimes: TokenLifetimes
  signup: boolean
  /** Whether sign-up takes an address about which the provider does not say whether it is verified. */
  trustEmail: boolean
  /** Gives the account the roles of these groups, and takes those of others; returns what it could not grant. */
  replaceRoles(
    trx: Transaction,
    member: { userId: number; actor: Actor },
    groups: readonly string[],
  ): Promise<readonly object[]>
  /** Accepts the invitation with this hash of its link. `sign-in-required`: its address has an account. */
  claimInvitation(
    trx: Transaction,
    linkHash: Buffer,
    claimant: Claimant,
    client: SignInClient,
  ): Promise<{ kind: 'claimed'; userId: number } | { kind: 'sign-in-required' } | HttpProblem>
}

/** What becomes of a person that the provider has identified. Every change is stored with its audit entry. */
export async function completeSignIn(
  deps: SignInDeps,
  purpose: Purpose,
  person: Person,
  client: SignInClient,
): Promise<SignInOutcome> {
  const { db } = deps
  try {
    switch (purpose.kind) {
      case 'link':
        return await db.transaction().execute((trx) => link(trx, purpose, person, client))
      case 'invitation': {
        const refused = await db.transaction().execute((trx) => join(trx, deps, purpose.hash, person, client))
        if (refused) return refused
        break
      }
      case 'sign-in':
        break
    }
    return await db.transaction().execute((trx) => signIn(trx, deps, person, client))
  } catch (error) {
    if (error instanceof LinkedMeanwhile) return refuse('sso_rejected', 'identity_taken')
    throw error
  }
}

/** Undoes the account that was created for an identity. */
class LinkedMeanwhile extends Error {}

const refuse = (code: ProblemCode, reason: string, account?: Account): Refused => ({
  kind: 'refused',
  code,
  reason,
  account,
})

async function signIn(
  trx: Transaction,
  deps: SignInDeps,
  person: Person,
  client: SignInClient,
): Promise<SignInOutcome> {
  const known = await touchIdentity(trx, person)
  if (known) return open(trx, deps, known, person, client)
  if (!deps.signup) return refuse('sso_no_account', 'no_account')
  if (person.email === null) return refuse('sso_rejected', 'no_email')
  const isTrusted = person.isEmailVerified ?? deps.trustEmail
  if (!isTrusted) return refuse('sso_rejected', 'unverified_email')
  const created = await createAccount(trx, person.email, person.name)
  // Two first sign-ins at once: the account that is in the way may be this person's.
  if (!created) {
    const meanwhile = await touchIdentity(trx, person)
    return meanwhile ? open(trx, deps, meanwhile, person, client) : refuse('sso_email_taken', 'email_taken')
  }
  if (!(await linkIdentity(trx, client, created, person))) throw new LinkedMeanwhile()
  return open(trx, deps, created, person, client)
}

/** Accepts an invitation: as the account that the identity is linked to, else as a new one, which gets the identity. */
async function join(
  trx: Transaction,
  { claimInvitation }: SignInDeps,
  hash: Buffer,
  person: Person,
  client: SignInClient,
): Promise<Refused | undefined> {
  const known = await touchIdentity(trx, person)
  if (known?.active === false) return refuse('sso_rejected', 'inactive', known)
  const claimed = await claimInvitation(
    trx,
    hash,
    known
      ? { kind: 'signed-in', userId: known.id }
      : { kind: 'newcomer', name: person.name ?? undefined, passwordHash: null },
    client,
  )
  if (claimed.kind === 'sign-in-required') return refuse('sso_email_taken', 'email_taken')
  if (claimed.kind !== 'claimed') return refuse('sso_rejected', 'invitation', known)
  if (known) return undefined
  const account = await loadUser(trx, claimed.userId)
  if (!(await linkIdentity(trx, client, account, person))) throw new LinkedMeanwhile()
  return undefined
}

/** Roles first: changes of members lock their organization before the account. */
async function open(
  trx: Transaction,
  { lifetimes, replaceRoles }: SignInDeps,
  account: Account & { active?: boolean },
  { groups }: Person,
  client: SignInClient,
): Promise<SignInOutcome> {
  if (account.active === false) return refuse('sso_rejected', 'inactive', account)
  const actor = { ...client, userId: account.id }
  const skipped = await replaceRoles(trx, { userId: account.id, actor }, groups)
  const session = await startSession(trx, account.id, 'oidc', { ...client, kind: 'browser' }, lifetimes)
  if (session?.kind !== 'browser') return refuse('sso_rejected', 'inactive', account)
  return { kind: 'signed-in', userId: account.id, token: session.token, skipped }
}

/** Only for somebody who is still signed in: an account is never linked by its email address. */
async function link(
  trx: Transaction,
  { userId, tokenId }: Extract<Purpose, { kind: 'link' }>,
  person: Person,
  client: SignInClient,
): Promise<SignInOutcome> {
  const account = await trx
    .selectFrom('tokens')
    .innerJoin('users', 'users.id', 'tokens.user_id')
    .select(['users.id', 'users.email'])
    .where('tokens.id', '=', tokenId)
    .where('users.id', '=', userId)
    .where('tokens.revoked_at', 'is', null)
    .where('tokens.expires_at', '>', sql<string>`now()`)
    .where('users.active', '=', true)
    .executeTakeFirst()
  if (!account) return refuse('sso_expired', 'session_ended')
  const isLinked =
    (await linkIdentity(trx, client, account, person)) || (await isLinkedTo(trx, account.id, person))
  return isLinked
    ? { kind: 'linked', userId: account.id }
    : refuse('sso_identity_taken', 'identity_taken', account)
}

/** Undefined when the address has an account. One at a time for each address. */
async function createAccount(trx: Transaction, email: string, name: string | null) {
  const address = email.toLowerCase()
  await sql`select pg_advisory_xact_lock(hashtextextended('account ' || ${address}::text, 0))`.execute(trx)
  const taken = await trx
    .selectFrom('users')
    .select('id')
    .where(sql`lower(email)`, '=', address)
    .executeTakeFirst()
  if (taken) return undefined
  const shown = name ?? email.split('@')[0]!
  return insertWithSlug(shown, (url_slug) =>
    trx
      .insertInto('users')
      .values({ name: shown, email, url_slug })
      .onConflict((conflict) => conflict.column('url_slug').doNothing())
      .returning(['id', 'email'])
      .executeTakeFirst(),
  )
}
