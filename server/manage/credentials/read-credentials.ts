import { loadUsers } from '#access/accounts/load-users.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { type EmbedDeps, lastActionsOf } from '#model/actions/embedded.ts'
import { credentialData } from '#model/inventory/load-resources.ts'
import { loadOrganizations } from '#model/inventory/load-scopes.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { findById, rowVersion } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import { loadVisibleUses } from './credential-use.ts'
import { readPrivateKey } from './private-key.ts'
import type { CredentialRecord } from './schemas.ts'

export type CredentialRow = NonNullable<Awaited<ReturnType<typeof findCredential>>>

/** All but removed ones. */
function selectCredentials(db: Database) {
  return db
    .selectFrom('credentials')
    .selectAll()
    .select(rowVersion('credentials'))
    .where('credentials.deleted_at', 'is', null)
}

export function findCredential(db: Database, id: number, options?: { lock: boolean }) {
  return findById(selectCredentials(db), 'credentials', id, options)
}

/** The credentials of an organization, newest first. */
export function listCredentials(db: Database, organizationId: number, name: string | undefined, page: Page) {
  const query = selectCredentials(db).where('credentials.organization_id', '=', organizationId)
  return readPage(query, 'credentials', page, name)
}

export type PresentCredentials = EmbedDeps & { box: SecretBox }

/** Rows as the API shows them to this caller: everything but the secret. */
export async function presentCredentials(
  deps: PresentCredentials,
  caller: Caller,
  rows: readonly CredentialRow[],
): Promise<CredentialRecord[]> {
  const creators = rows.map((row) => row.created_by)
  const organizationIds = rows.map((row) => row.organization_id)
  const ids = rows.map((row) => row.id)
  const users = byId(await loadUsers(deps.db, creators))
  const organizations = byId(await loadOrganizations(deps.db, organizationIds))
  const uses = await loadVisibleUses(deps.db, caller, ids)
  const lastActions = await lastActionsOf(deps, caller, ids)
  return rows.map((row) => ({
    ...credentialData(row, users.get(row.created_by)!),
    organization: organizations.get(row.organization_id)!,
    last_action: lastActions.get(row.id) ?? null,
    base_url: row.base_url,
    username: row.username,
    token_targets: row.token_targets,
    ssh_hosts: row.ssh_hosts,
    ...publicKeyOf(deps.box, row),
    used_by: (uses.get(row.id) ?? [])
      .filter((use) => use.type !== 'hook')
      .map(({ type, id, name }) => ({ resource_type: type, resource_id: id, name })),
    used_by_hooks: (uses.get(row.id) ?? [])
      .filter((use) => use.type === 'hook')
      .map(({ id, name, pipeline_id }) => ({ hook_id: id, name, pipeline_id })),
  }))
}

function publicKeyOf(box: SecretBox, row: CredentialRow) {
  const secret = row.provider_code === 'ssh' ? openSecret(box, row) : null
  const key = secret == null ? undefined : readPrivateKey(secret)
  const pair = key?.kind === 'key' ? key.pair : null
  return { public_key: pair?.publicKey ?? null, public_key_fingerprint: pair?.fingerprint ?? null }
}

/** Null without a secret, undefined when it was sealed with another master key. */
export function openSecret(box: SecretBox, { id, secret }: CredentialRow): string | null | undefined {
  if (secret === null) return null
  try {
    return box.open(secret, credentialAad(id))
  } catch {
    return undefined
  }
}
