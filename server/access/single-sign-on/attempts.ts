import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { readCookie } from '#access/authorization/session-cookie.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import type { Checks } from './provider.ts'

/** What a sign-in at the provider is for. */
export type Purpose =
  | { kind: 'sign-in' }
  /** Somebody signed in links an identity; the login that started it must not have ended. */
  | { kind: 'link'; userId: number; tokenId: number }
  | { kind: 'invitation'; hash: Buffer }

const LIFE = sql<string>`now() + interval '10 minutes'`
/** Attempts that nobody finishes, from one network; they are rows that anybody can create. */
const MAX_OPEN = 100

/** `secret` goes to the browser; the database has only its hash. */
export type Attempt = { secret: string; checks: Checks }

export function newAttempt(): Attempt {
  const [state, secret] = [randomText(), randomText()]
  return { secret, checks: checksOf(state, secret) }
}

/** False when too many from this network are open. */
export async function storeAttempt(
  db: Database,
  { secret, checks }: Attempt,
  purpose: Purpose,
  network: string,
): Promise<boolean> {
  const { open } = await db
    .selectFrom('oidc_attempts')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where('network', '=', network)
    .where('expires_at', '>', NOW)
    .executeTakeFirstOrThrow()
  if (open >= MAX_OPEN) return false
  await db
    .insertInto('oidc_attempts')
    .values({
      state_hash: hashToken(checks.state),
      browser_hash: hashToken(secret),
      network,
      user_id: purpose.kind === 'link' ? purpose.userId : null,
      token_id: purpose.kind === 'link' ? purpose.tokenId : null,
      invitation_hash: purpose.kind === 'invitation' ? purpose.hash : null,
      expires_at: LIFE,
    })
    .execute()
  return true
}

type TakenAttempt =
  | { kind: 'taken'; purpose: Purpose; checks: Checks }
  | { kind: 'refused'; reason: 'unknown_state' | 'expired_attempt' | 'missing_cookie' | 'wrong_cookie' }

/** Each attempt can be taken once, whatever comes of it. */
export async function takeAttempt(
  db: Database,
  state: string | undefined,
  secret: string | undefined,
): Promise<TakenAttempt> {
  if (state === undefined) return { kind: 'refused', reason: 'unknown_state' }
  const row = await db
    .deleteFrom('oidc_attempts')
    .where('state_hash', '=', hashToken(state))
    .returning(['browser_hash', 'user_id', 'token_id', 'invitation_hash'])
    .returning(sql<boolean>`expires_at > now()`.as('is_current'))
    .executeTakeFirst()
  if (!row) return { kind: 'refused', reason: 'unknown_state' }
  if (!row.is_current) return { kind: 'refused', reason: 'expired_attempt' }
  if (secret === undefined) return { kind: 'refused', reason: 'missing_cookie' }
  if (!timingSafeEqual(hashToken(secret), row.browser_hash))
    return { kind: 'refused', reason: 'wrong_cookie' }
  return { kind: 'taken', purpose: purposeOf(row), checks: checksOf(state, secret) }
}

/** Deletes attempts that were never finished; run by a job. */
export async function pruneAttempts(db: Database): Promise<void> {
  await db.deleteFrom('oidc_attempts').where('expires_at', '<', sql<string>`now()`).execute()
}

function purposeOf(row: {
  user_id: number | null
  token_id: number | null
  invitation_hash: Buffer | null
}): Purpose {
  if (row.user_id !== null) return { kind: 'link', userId: row.user_id, tokenId: row.token_id! }
  return row.invitation_hash ? { kind: 'invitation', hash: row.invitation_hash } : { kind: 'sign-in' }
}

/**
 * The verifier and the nonce derive from what the browser keeps, and are stored nowhere: neither the database nor the
 * URL that the browser comes back with is enough to finish an attempt.
 */
function checksOf(state: string, secret: string): Checks {
  const derive = (use: string) => createHmac('sha256', secret).update(`${use} ${state}`).digest('base64url')
  return { state, nonce: derive('nonce'), verifier: derive('verifier') }
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}

// The cookie that binds an attempt to the browser that started it. The session cookie cannot: it is not sent when
// another site, the provider, leads here. Pure.

const NAME = 'gantry_sign_in'
const SECONDS = 10 * 60

/** With TLS, the prefix keeps other hosts of the same domain from setting it. */
const nameFor = (baseUrl: string) => (baseUrl.startsWith('https:') ? `__Host-${NAME}` : NAME)

/** Undefined without a well-formed one. */
export function readAttemptCookie(header: string | undefined, baseUrl: string): string | undefined {
  const value = readCookie(header, nameFor(baseUrl))
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

/** A Set-Cookie header; without a secret it clears the cookie. */
export function writeAttemptCookie(secret: string | null, baseUrl: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  const seconds = secret === null ? 0 : SECONDS
  return `${nameFor(baseUrl)}=${secret ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}
