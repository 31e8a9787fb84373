// Steps that run on their servers by themselves, as several rooms see them: which are finished, and where there are none.
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** Of these tokens, those under which nothing runs that still needs a result. */
export async function findFinished(db: Database, tokens: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ token: string }>`
    select token from unnest(${tokens}::text[]) as token
    where not exists (
      select from detached_steps d join targets t on t.id = d.target_id
      where d.token = token.token and d.ended_at is null and t.status = 'in-progress')`.execute(db)
  return rows.map(({ token }) => token)
}

/** What the server, or one of its accounts, said last: why steps end with the connection there; null when they do not. */
export async function noteDetaching(db: Database, serverId: number, reason: string | null): Promise<void> {
  if (reason === null) await db.deleteFrom('attached_servers').where('server_id', '=', serverId).execute()
  else
    await db
      .insertInto('attached_servers')
      .values({ server_id: serverId, reason })
      .onConflict((conflict) => conflict.column('server_id').doUpdateSet({ reason }))
      .execute()
}
