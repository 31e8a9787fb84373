import { type EffectiveRequest, effectiveRequest } from '#model/hooks/effective-request.ts'
import { isAboutCommits } from '#model/hooks/presets/schema.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { findApplications, findOwner } from './check-token.ts'
import type { requestOf } from './hook-columns.ts'

/** What the hook would send with the credential that it has once it is saved, or why it cannot have that preset. */
export async function expandRequest(
  trx: Transaction,
  pipelineId: number,
  request: ReturnType<typeof requestOf>,
): Promise<EffectiveRequest | { kind: 'unfit'; errors: ErrorsByField }> {
  const { preset } = request.settings
  if (!preset) return effectiveRequest(request, null)
  if (isAboutCommits(preset.kind) && !(await isOfApplication(trx, pipelineId)))
    return { kind: 'unfit', errors: { 'settings.preset.kind': [NO_COMMITS] } }
  const { credential_id } = request
  const owner =
    credential_id === null ? await findApplications(trx, pipelineId) : await findOwner(trx, credential_id)
  return effectiveRequest(request, owner ? { provider: owner.provider_code, baseUrl: owner.base_url } : null)
}

const NO_COMMITS = 'reports on commits: the pipeline must belong to an application'

async function isOfApplication(trx: Transaction, pipelineId: number): Promise<boolean> {
  const { application_id } = await trx
    .selectFrom('pipelines')
    .select('application_id')
    .where('id', '=', pipelineId)
    .executeTakeFirstOrThrow()
  return application_id !== null
}
