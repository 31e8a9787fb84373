import { sql, type Transaction } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { lockOrganization } from '#model/inventory/lock-scope.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { type Settled, type StoredCredential, settleChange, settleNew } from './check-credential.ts'
import { findUsers, refuseLocalUsers, refuseWhileUsed } from './credential-users.ts'
import { type CredentialRow, findCredential } from './find-credentials.ts'
import type { CredentialBody, CredentialChange } from './schemas.ts'

export type CredentialDeps = { box: SecretBox; actor: Actor }

export type CredentialOutcome = { kind: 'done'; row: CredentialRow } | HttpProblem

export async function createCredential(
  trx: Transaction<Tables>,
  { box, actor }: CredentialDeps,
  caller: Caller,
  organizationId: number,
  wish: CredentialBody,
): Promise<CredentialOutcome> {
  if (!(await lockOrganization(trx, organizationId))) return { kind: 'gone' }
  const wished = settleNew(wish)
  if (wished.kind === 'invalid') return wished
  const { secret, ...columns } = wished.settled
  await holdNames(trx, organizationId)
  if (await isNameTaken(trx, 'credentials', organizationId, columns.name)) return NAME_TAKEN
  const { id } = await trx
    .insertInto('credentials')
    .values({
      organization_id: organizationId,
      created_by: caller.id,
      ...columns,
      secret: secret == null ? null : NOT_YET,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (secret != null) await storeSecret(trx, box, id, secret)
  const row = (await findCredential(trx, id))!
  await recordAudit(trx, actor, {
    organizationId,
    verb: 'created',
    subject: subjectOf(row),
    before: null,
    after: audited(row, null),
  })
  return { kind: 'done', row }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changeCredential(
  trx: Transaction<Tables>,
  { box, actor }: CredentialDeps,
  caller: Caller,
  id: number,
  wish: CredentialChange,
  ifMatch?: string,
): Promise<CredentialOutcome> {
  const before = await findCredential(trx, id, { lock: true })
  if (!before) return { kind: 'gone' }
  if (isOutdated(ifMatch, before.row_version)) return { kind: 'changed-meanwhile' }
  const wished = settleChange(wish, before)
  if (wished.kind === 'invalid') return wished
  const { secret, ...columns } = wished.settled
  if (columns.base_url !== before.base_url) {
    const refusal = await refuseLocalUsers(trx, caller, id)
    if (refusal) return refusal
  }
  if (columns.name !== before.name) {
    await holdNames(trx, before.organization_id)
    if (await isNameTaken(trx, 'credentials', before.organization_id, columns.name, id)) return NAME_TAKEN
  }
  await trx
    .updateTable('credentials')
    .set({
      ...columns,
      ...(secret !== undefined && {
        secret: secret === null ? null : box.seal(secret, credentialAad(id)),
      }),
      updated_at: sql<string>`now()`,
    })
    .where('id', '=', id)
    .execute()
  const row = (await findCredential(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: row.organization_id,
    verb: 'changed',
    subject: subjectOf(row),
    before: audited(before, null),
    after: audited(row, wished.settled),
  })
  return { kind: 'done', row }
}

/** The row stays, without its secret: runs of the past name it. */
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
  const refusal = refuseWhileUsed(caller, await findUsers(trx, id))
  if (refusal) return refusal
  await trx
    .updateTable('credentials')
    .set({ secret: null, active: false, deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .execute()
  await recordAudit(trx, actor, {
    organizationId: before.organization_id,
    verb: 'removed',
    subject: subjectOf(before),
    before: audited(before, null),
    after: null,
  })
  return { kind: 'removed' }
}

const NOT_YET = Buffer.alloc(0)

const NAME_TAKEN: HttpProblem = {
  kind: 'invalid',
  errors: { name: ['is the name of another credential of this organization'] },
}

/** Until the end of the transaction nobody else gives a name there. */
async function holdNames(trx: Transaction<Tables>, organizationId: number): Promise<void> {
  const lock = `names of credentials ${organizationId}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(trx)
}

/** A secret is sealed for its row, so the row comes first. */
async function storeSecret(
  trx: Transaction<Tables>,
  box: SecretBox,
  id: number,
  secret: string,
): Promise<void> {
  await trx
    .updateTable('credentials')
    .set({ secret: box.seal(secret, credentialAad(id)) })
    .where('id', '=', id)
    .execute()
}

function subjectOf({ id, name }: CredentialRow) {
  return { type: 'credential', id, name }
}

function audited(row: StoredCredential, change: Pick<Settled, 'secret'> | null) {
  const { name, provider_code, auth_type, base_url, username, active } = row
  const hasSecret = auth_type !== 'none'
  const secret = change?.secret != null ? { changed: true } : hasSecret ? '********' : null
  return { name, provider_code, base_url, username, active, secret }
}
