import type { Transaction } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { CredentialProvider } from './schemas.ts'

export type UsableCredential = { id: number; provider_code: CredentialProvider; base_url: string | null }

export type Use = { kind: 'usable'; credential: UsableCredential } | HttpProblem

/**
 * For whoever gives a credential to something: whether the caller may. Until the end of the transaction the
 * credential can then not be removed. One of another organization is as unknown as one that is not there.
 */
export async function authorizeUse(
  trx: Transaction<Tables>,
  caller: Caller,
  organizationId: number,
  credentialId: number,
  field = 'credential_id',
): Promise<Use> {
  const place = { organization_id: organizationId }
  const credential = await trx
    .selectFrom('credentials')
    .select(['id', 'provider_code', 'base_url', 'active'])
    .where('id', '=', credentialId)
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .forShare()
    .executeTakeFirst()
  if (!credential || !can(caller, 'credential:view', place)) {
    return { kind: 'unknown', errors: { [field]: ['names no credential that you may see here'] } }
  }
  if (!can(caller, 'credential:run', place)) {
    return { kind: 'forbidden', reason: 'You need the permission credential:run to use a credential.' }
  }
  const { active, ...usable } = credential
  if (!active) return { kind: 'invalid', errors: { [field]: ['is switched off'] } }
  return { kind: 'usable', credential: usable }
}
