import { sql } from 'kysely'
import type { TokenLifetimes } from '#access/accounts/sessions.ts'
import { type SignInClient, startSession } from '#access/accounts/start-session.ts'
import type { Actor } from '#access/audit/record.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
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

export type SignInDeps = {
  db: Database
  lifetimes: TokenLifetimes
  signup: boolean
  /** Gives the account the roles of these groups, and takes those of others; returns what it could not grant. */
  replaceRoles(
    trx: Transaction,
    member: { userId: number; actor: Actor },
    groups: readonly string[],
  ): Promise<readonly object[]>
}

/** What becomes of a person that the provider has identified. One transaction, with its audit entries. */
export async function completeSignIn(
  deps: SignInDeps,
  purpose: Purpose,
  person: Person,
  client: SignInClient,
): Promise<SignInOutcome> {
  return deps.db.transaction().execute(async (trx) => {
    switch (purpose.kind) {
      case 'link':
        return link(trx, purpose, person, client)
      case 'sign-in':
        return signIn(trx, deps, person, client)
      case 'invitation':
        return refuse('sso_rejected', 'invitation')
    }
  })
}

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
  const created = await createAccount(trx, person.email, person.name)
  // Two first sign-ins at once: the account that is in the way may be this person's.
  if (!created) {
    const meanwhile = await touchIdentity(trx, person)
    return meanwhile ? open(trx, deps, meanwhile, person, client) : refuse('sso_email_taken', 'email_taken')
  }
  if (!(await linkIdentity(trx, client, created, person)))
    throw new Error('An identity was linked twice at once')
  return open(trx, deps, created, person, client)
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
async function createAccount(
  trx: Transaction,
  email: string,
  name: string | null,
): Promise<Account | undefined> {
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
