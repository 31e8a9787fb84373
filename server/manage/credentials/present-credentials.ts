import { sql } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { loadSummaries } from '#model/actions/assemble.ts'
import { newestUseOf } from '#model/actions/related.ts'
import type { ActionSummary } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { loadWhole } from '#model/actions/whole-actions.ts'
import { loadOrganizations } from '#model/inventory/load-organizations.ts'
import { credentialData } from '#model/inventory/load-resources.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { CredentialRow } from './find-credentials.ts'

import { readPrivateKey } from './private-key.ts'
import type { CredentialRecord } from './schemas.ts'

export type ShowCredentials = { db: Database; box: SecretBox; tree: Tree; baseUrl: () => string }

/** Rows → what the API shows of them to this caller: everything but the secret. */
export async function presentCredentials(
  deps: ShowCredentials,
  caller: Caller,
  rows: readonly CredentialRow[],
): Promise<CredentialRecord[]> {
  const { db, box } = deps
  const makers = rows.map((row) => row.created_by)
  const homes = rows.map((row) => row.organization_id)
  const users = byId(await loadUsers(db, makers))
  const organizations = byId(await loadOrganizations(db, homes))
  const lastActions = await loadLastActions(deps, caller, rows)
  return rows.map((row) => ({
    ...credentialData(row, users.get(row.created_by)!),
    organization: organizations.get(row.organization_id)!,
    last_action: lastActions.get(row.id) ?? null,
    base_url: row.base_url,
    username: row.username,
    ...publicHalf(box, row),
  }))
}

/** By credential: the newest action that used it, if the caller may see that. */
async function loadLastActions(
  { db, tree, baseUrl }: ShowCredentials,
  caller: Caller,
  credentials: readonly CredentialRow[],
): Promise<Map<number, ActionSummary>> {
  if (credentials.length === 0) return new Map()
  const ids = credentials.map(({ id }) => id)
  const { rows } = await sql<{ id: number; last_use: number | null }>`
    select wanted.id, ${newestUseOf(sql`wanted.id`)} as last_use
    from unnest(${ids}::bigint[]) as wanted (id)`.execute(db)
  const related = rows.map(({ last_use }) => ({ latest: null, live: null, lastUse: last_use }))
  const load = { loadWhole: loadWhole.bind(null, db), baseUrl: baseUrl() }
  const summaries = await loadSummaries(load, await visibilityOf(tree, caller), [], related)
  return new Map(
    rows.flatMap(({ id, last_use }) => {
      const summary = last_use === null ? undefined : summaries.get(last_use)
      return summary ? [[id, summary]] : []
    }),
  )
}

/** Of a key: what may be put on servers. Nothing of one that was sealed with another master key. */
function publicHalf(box: SecretBox, row: CredentialRow) {
  const read = row.provider_code === 'ssh' && row.secret !== null ? open(box, row.id, row.secret) : undefined
  const pair = read?.kind === 'key' ? read.pair : null
  return { public_key: pair?.publicKey ?? null, public_key_fingerprint: pair?.fingerprint ?? null }
}

function open(box: SecretBox, id: number, secret: Buffer) {
  try {
    return readPrivateKey(box.open(secret, credentialAad(id)))
  } catch {
    return undefined
  }
}
