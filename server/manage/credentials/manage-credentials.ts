// The credentials room: tokens and keys that give Gantry access to repositories and servers. Their secrets go
// in, and never come out again.
import { sql } from 'kysely'
import { auditorOf, type Change, type Creation, type Removal } from '#access/audit/record.ts'
import { storePresetUrls } from '#model/hooks/preset-urls.ts'
import { checkLocalAccess } from '#model/inventory/local-servers.ts'
import { lockOrganization } from '#model/inventory/lock-scope.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { insertRow, NOW, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, GONE, invalidAt } from '#platform/http/problems.ts'
import { MASK } from '#platform/masking/masked.ts'
import { checkUnused, describeStopped, findStopped } from './credential-use.ts'
import { normalizeCredential } from './normalize-credential.ts'
import { type CredentialRow, findCredential } from './read-credentials.ts'
import type { CredentialBody, CredentialChange } from './schemas.ts'

type Sealing = { box: SecretBox }

const auditCredential = auditorOf<CredentialRow & { isNewSecret?: boolean }>('credential', (row) => {
  const { name, provider_code, auth_type, base_url, username, active, token_targets, ssh_hosts } = row
  const secret = row.isNewSecret ? { changed: true } : auth_type === 'none' ? null : MASK
  return { name, provider_code, base_url, username, active, token_targets, ssh_hosts, secret }
})

export async function createCredential(trx: Transaction, request: Creation<CredentialBody> & Sealing) {
  const { parentId: organizationId, body, caller, box } = request
  if (!(await lockOrganization(trx, organizationId))) return GONE
  const normalized = normalizeCredential(body)
  if (normalized.kind === 'invalid') return normalized
  const { secret, ...columns } = normalized.credential
  const problem = await claimName(trx, organizationId, columns.name)
  if (problem) return problem
  const id = await insertRow(trx, 'credentials', {
    ...columns,
    organization_id: organizationId,
    created_by: caller.id,
    secret: secret == null ? null : NOT_SEALED_YET,
  })
  if (secret != null) await updateRow(trx, 'credentials', id, { secret: box.seal(secret, credentialAad(id)) })
  return auditCredential.saved(trx, request, organizationId, null, await findCredential(trx, id))
}

export async function changeCredential(
  trx: Transaction,
  request: Change<CredentialChange> & Sealing & { stopHooks: boolean },
) {
  const { id, body, caller, box, stopHooks, ifMatch } = request
  const before = await findCredential(trx, id, { lock: true })
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  const normalized = normalizeCredential(body, before)
  if (normalized.kind === 'invalid') return normalized
  const { secret, ...columns } = normalized.credential
  const { organization_id } = before
  // Repositories such as `acme/shop` are found at the base_url.
  const problem =
    (columns.base_url !== before.base_url
      ? await checkLocalAccess(trx, caller, { type: 'credential', id })
      : undefined) ??
    (columns.name !== before.name ? await claimName(trx, organization_id, columns.name, id) : undefined) ??
    (isLimiting(before, columns) && !stopHooks
      ? describeStopped(caller, await findStopped(trx, { ...columns, id }))
      : undefined)
  if (problem) return problem
  await updateRow(trx, 'credentials', id, {
    ...columns,
    secret: secret == null ? secret : box.seal(secret, credentialAad(id)),
  })
  if (columns.base_url !== before.base_url) await storePresetUrls(trx, { credentialId: id })
  const row = { ...(await findCredential(trx, id))!, isNewSecret: secret != null }
  return auditCredential.saved(trx, request, organization_id, before, row)
}

function isLimiting(before: Limit, after: Limit): boolean {
  return before.token_targets === 'anywhere' && after.token_targets === 'provider'
}

type Limit = Pick<CredentialRow, 'token_targets'>

/** The row stays, without its secret: past runs reference it. */
export async function removeCredential(trx: Transaction, request: Removal) {
  const { id, caller, ifMatch } = request
  const before = await findCredential(trx, id, { lock: true })
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  const problem = await checkUnused(trx, caller, id)
  if (problem) return problem
  await updateRow(trx, 'credentials', id, { secret: null, active: false, deleted_at: NOW })
  return auditCredential.removed(trx, request, before.organization_id, before)
}

/** A secret is sealed for its row, so the row comes first. */
const NOT_SEALED_YET = Buffer.alloc(0)

/** Locks the names of the organization's credentials until the transaction ends. */
async function claimName(trx: Transaction, organizationId: number, name: string, id?: number) {
  const lock = `names of credentials ${organizationId}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(trx)
  if (!(await isNameTaken(trx, 'credentials', organizationId, name, id))) return undefined
  return invalidAt('name', 'is taken by another credential of this organization')
}
