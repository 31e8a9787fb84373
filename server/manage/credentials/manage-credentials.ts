// The credentials room: tokens and keys that give Gantry access to repositories and servers. Their secrets go
// in, and never come out again.
import { sql, type Transaction } from 'kysely'
import { type Actor, auditorOf } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { checkLocalAccess } from '#model/inventory/local-servers.ts'
import { lockOrganization } from '#model/inventory/lock-scope.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { insertRow, NOW, updateRow } from '#platform/database/rows.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { MASK } from '#platform/masking/masked.ts'
import { checkUnused } from './credential-use.ts'
import { normalizeCredential } from './normalize-credential.ts'
import { type CredentialRow, findCredential } from './read-credentials.ts'
import type { CredentialBody, CredentialChange } from './schemas.ts'

export type CredentialDeps = { box: SecretBox; actor: Actor }

export type CredentialOutcome = { kind: 'done'; row: CredentialRow } | HttpProblem

const auditCredential = auditorOf<CredentialRow & { isNewSecret?: boolean }>('credential', (row) => {
  const { name, provider_code, auth_type, base_url, username, active } = row
  const secret = row.isNewSecret ? { changed: true } : auth_type === 'none' ? null : MASK
  return { name, provider_code, base_url, username, active, secret }
})

export async function createCredential(
  trx: Transaction<Tables>,
  { box, actor }: CredentialDeps,
  caller: Caller,
  organizationId: number,
  input: CredentialBody,
): Promise<CredentialOutcome> {
  if (!(await lockOrganization(trx, organizationId))) return { kind: 'gone' }
  const normalized = normalizeCredential(input)
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
  const row = (await findCredential(trx, id))!
  await auditCredential(trx, actor, organizationId, null, row)
  return { kind: 'done', row }
}

/** `ifMatch` is the row version that the caller last saw, when they sent one. */
export async function changeCredential(
  trx: Transaction<Tables>,
  { box, actor }: CredentialDeps,
  caller: Caller,
  id: number,
  input: CredentialChange,
  ifMatch?: string,
): Promise<CredentialOutcome> {
  const before = await findCredential(trx, id, { lock: true })
  if (!before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  const normalized = normalizeCredential(input, before)
  if (normalized.kind === 'invalid') return normalized
  const { secret, ...columns } = normalized.credential
  const { organization_id } = before
  // Repositories such as `acme/shop` are found at the base_url.
  const problem =
    (columns.base_url !== before.base_url
      ? await checkLocalAccess(trx, caller, { type: 'credential', id })
      : undefined) ??
    (columns.name !== before.name ? await claimName(trx, organization_id, columns.name, id) : undefined)
  if (problem) return problem
  await updateRow(trx, 'credentials', id, {
    ...columns,
    secret: secret == null ? secret : box.seal(secret, credentialAad(id)),
  })
  const row = (await findCredential(trx, id))!
  await auditCredential(trx, actor, organization_id, before, { ...row, isNewSecret: secret != null })
  return { kind: 'done', row }
}

/** The row stays, without its secret: past runs reference it. */
export async function removeCredential(
  trx: Transaction<Tables>,
  { actor }: Pick<CredentialDeps, 'actor'>,
  caller: Caller,
  id: number,
  ifMatch?: string,
): Promise<{ kind: 'removed' } | HttpProblem> {
  const before = await findCredential(trx, id, { lock: true })
  if (!before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  const problem = await checkUnused(trx, caller, id)
  if (problem) return problem
  await updateRow(trx, 'credentials', id, { secret: null, active: false, deleted_at: NOW })
  await auditCredential(trx, actor, before.organization_id, before, null)
  return { kind: 'removed' }
}

/** A secret is sealed for its row, so the row comes first. */
const NOT_SEALED_YET = Buffer.alloc(0)

/** Locks the names of the organization's credentials until the transaction ends. */
async function claimName(
  trx: Transaction<Tables>,
  organizationId: number,
  name: string,
  id?: number,
): Promise<HttpProblem | undefined> {
  const lock = `names of credentials ${organizationId}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(trx)
  if (!(await isNameTaken(trx, 'credentials', organizationId, name, id))) return undefined
  return { kind: 'invalid', errors: { name: ['is taken by another credential of this organization'] } }
}
