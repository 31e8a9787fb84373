// Browser login of the command line, as OAuth 2 does it for native apps (RFC 8252): a person approves on a page, the
// browser brings a code to a port of their own machine, and the command line trades the code for a token.
import { hash, timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import type { Static } from 'typebox'
import { lockAccess } from '#access/accounts/personal-tokens.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { hashToken, newUrlToken } from '#platform/crypto/tokens.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { authorizationInput, exchangeInput } from './schemas.ts'

const LIFE = sql<string>`now() + interval '2 minutes'`
/** Approvals of one person that no command line has used yet. */
const MAX_OPEN = 20

const ENDED: HttpProblem = { kind: 'forbidden', reason: 'Your session was revoked.' }

type Authorization = { kind: 'done'; code: string; expires_at: string }

/** Stores an approval; only the hash of its code. */
export async function createAuthorization(
  trx: Transaction,
  caller: Caller,
  { redirect_uri, code_challenge, name, may_approve = false }: Static<typeof authorizationInput>,
): Promise<Authorization | HttpProblem | { kind: 'too-many' }> {
  if (!(await lockAccess(trx, caller))) return ENDED
  const { open } = await trx
    .selectFrom('login_authorizations')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where('user_id', '=', caller.id)
    .where('expires_at', '>', NOW)
    .executeTakeFirstOrThrow()
  if (open >= MAX_OPEN) return { kind: 'too-many' }
  const code = `gty_ac_${newUrlToken()}`
  const { expires_at } = await trx
    .insertInto('login_authorizations')
    .values({
      ...{ code_hash: hashToken(code), code_challenge: Buffer.from(code_challenge, 'base64url') },
      ...{ redirect_uri, name, user_id: caller.id, token_id: caller.token.id, may_approve, expires_at: LIFE },
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { kind: 'done', code, expires_at }
}

type Account = { id: number; email: string }
export type TakenCode =
  | { kind: 'taken'; name: string; mayApprove: boolean; account: Account }
  /** `account`: whose code it was. */
  | { kind: 'refused'; reason: string; account: Account | null }

/**
 * Each code can be taken once, whatever comes of it: a code with a wrong verifier has been seen by someone else. Locks
 * the user. The transaction must be committed.
 */
export async function takeCode(
  trx: Transaction,
  { code, code_verifier, redirect_uri }: Static<typeof exchangeInput>,
): Promise<TakenCode> {
  const row = await trx
    .deleteFrom('login_authorizations')
    .where('code_hash', '=', hashToken(code))
    .returning(['code_challenge', 'redirect_uri', 'name', 'user_id', 'token_id', 'may_approve'])
    .returning(sql<boolean>`expires_at > now()`.as('is_current'))
    .executeTakeFirst()
  if (!row) return { kind: 'refused', reason: 'unknown_code', account: null }
  const isSession = await lockAccess(trx, { id: row.user_id, token: { id: row.token_id } })
  const { active, ...account } = await trx
    .selectFrom('users')
    .select(['id', 'email', 'active'])
    .where('id', '=', row.user_id)
    .executeTakeFirstOrThrow()
  const refused = (reason: string) => ({ kind: 'refused' as const, reason, account })
  if (!row.is_current) return refused('expired_code')
  if (!timingSafeEqual(hash('sha256', code_verifier, 'buffer'), row.code_challenge))
    return refused('wrong_verifier')
  if (row.redirect_uri !== redirect_uri) return refused('wrong_redirect_uri')
  if (!isSession || !active) return refused('ended_session')
  return { kind: 'taken', name: row.name, mayApprove: row.may_approve, account }
}

/** Deletes approvals that were never used; run by a job. */
export async function pruneAuthorizations(db: Database): Promise<void> {
  await db.deleteFrom('login_authorizations').where('expires_at', '<', NOW).execute()
}
