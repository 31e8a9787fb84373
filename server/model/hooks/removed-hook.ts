import { sql } from 'kysely'

/** The row stays, without its secrets: calls and runs of the past name it. */
export const REMOVED_HOOK = {
  active: false,
  url_token: null,
  url_token_hash: null,
  secret: null,
  previous_secret: null,
  previous_secret_until: null,
  deleted_at: sql<string>`now()`,
  updated_at: sql<string>`now()`,
}
