import { sql } from 'kysely'
import { mayBeToken } from '#platform/crypto/personal-token.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'

/** A token of a browser session, of a login, or a personal access token. */
export type ExpiredToken = 'cookie' | 'access' | 'personal'

/**
 * Whether a token that finds no caller would, had it not expired. A revoked one, or one of a deactivated account, counts
 * as unknown: the response says nothing about it.
 */
export async function findExpiredToken(db: Database, token: string): Promise<ExpiredToken | undefined> {
  if (!mayBeToken(token)) return undefined
  const { rows } = await sql<{ kind: ExpiredToken }>`
    select case when t.in_cookie then 'cookie' else t.kind end as kind
    from tokens t join users u on u.id = t.user_id
    where t.hash = ${hashToken(token)} and t.kind in ('access', 'personal') and t.revoked_at is null
      and t.expires_at <= now() and u.active`.execute(db)
  return rows[0]?.kind
}
