import type { Transaction } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { authorizeUse } from '#manage/credentials/authorize-use.ts'
import type { EnvironmentHeld } from '#model/pipelines/lock-environment.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { SourceInput } from './check-application.ts'
import type { ApplicationRow } from './find-applications.ts'
import type { ApplicationChange } from './schemas.ts'

/**
 * Where the source will be once a wish is stored; undefined when the wish says nothing about it. Whoever gives an
 * application a credential, or sends the one that it has to another repository, must be allowed to use it.
 */
export async function settleSource(
  trx: Transaction<Tables>,
  caller: Caller,
  place: EnvironmentHeld,
  wish: ApplicationChange,
  stored?: ApplicationRow,
): Promise<{ source: SourceInput | undefined } | HttpProblem> {
  const repository = wish.repository ?? stored?.repository ?? ''
  const credentialId = wish.credential_id === undefined ? (stored?.credential_id ?? null) : wish.credential_id
  const isSame = repository === stored?.repository && credentialId === stored.credential_id
  if (isSame) return { source: undefined }
  if (credentialId === null) return { source: { repository, provider: null } }
  if (credentialId === stored?.credential_id)
    return sendElsewhere(trx, caller, place, repository, credentialId)
  const use = await authorizeUse(trx, caller, place.organization_id, credentialId)
  if (use.kind !== 'usable') return use
  const { provider_code, base_url } = use.credential
  return { source: { repository, provider: { code: provider_code, baseUrl: base_url } } }
}

async function sendElsewhere(
  trx: Transaction<Tables>,
  caller: Caller,
  place: EnvironmentHeld,
  repository: string,
  credentialId: number,
): Promise<{ source: SourceInput } | HttpProblem> {
  if (!can(caller, 'credential:run', { organization_id: place.organization_id })) {
    const reason =
      'The application has a credential, which would be used for another repository: you need the permission credential:run.'
    return { kind: 'forbidden', reason }
  }
  const { provider_code, base_url } = await trx
    .selectFrom('credentials')
    .select(['provider_code', 'base_url'])
    .where('id', '=', credentialId)
    .executeTakeFirstOrThrow()
  return { source: { repository, provider: { code: provider_code, baseUrl: base_url } } }
}
