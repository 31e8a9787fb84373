import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import type { CompiledRequest } from '#adapters/templates/compile.ts'
import { authorizeUse } from '#manage/credentials/credential-use.ts'
import { repositoryProblem, type Source } from '#model/hooks/repository-host.ts'
import {
  allOriginsOf,
  CREDENTIAL_TOKEN,
  isLimited,
  mixesTokens,
  originProblem,
  originsOf,
  tokensIn,
} from '#model/hooks/token-use.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { requestOf } from './hook-columns.ts'

/** The credential that a hook names. `isNew`: by this change. */
export type NamedCredential = { id: number | null; isNew: boolean }

/** Whether the caller may give the hook that credential. */
export async function checkNamed(
  trx: Transaction,
  caller: Caller,
  pipelineId: number,
  { id, isNew }: NamedCredential,
): Promise<HttpProblem | undefined> {
  if (id === null || !isNew) return undefined
  const { organization_id } = await trx
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select('projects.organization_id')
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirstOrThrow()
  const use = await authorizeUse(trx, caller, organization_id, id)
  if (use.kind !== 'usable') return use
  const owner = await findOwner(trx, id)
  return owner?.auth_type === 'token' ? undefined : invalid('credential_id', 'has no token to send')
}

/** Whether the caller may send the tokens that the requests use, and to where they go. */
export async function checkTokens(
  trx: Transaction,
  caller: Caller,
  pipelineId: number,
  named: NamedCredential,
  requests: readonly CompiledRequest[],
  /** Of the installation. */
  tokenTargets: TokenTargets,
): Promise<HttpProblem | undefined> {
  const uses = tokensIn(requests.flatMap(({ reads }) => [...reads]))
  if (!uses.application && !uses.credential) return undefined
  const ofApplication = await findApplications(trx, pipelineId)
  const own = named.id === null ? undefined : await findOwner(trx, named.id)
  if (mixesTokens(uses, named.id, ofApplication?.id ?? null))
    return invalid(
      'settings',
      'uses the tokens of two credentials: application.source_provider.access_token and credential.access_token',
    )
  const owner = uses.credential && own ? own : ofApplication
  if (owner?.auth_type !== 'token')
    return invalid(
      'settings',
      uses.credential
        ? `uses ${CREDENTIAL_TOKEN}, but neither the hook nor the application has a credential with a token`
        : 'uses application.source_provider.access_token, but the application has no credential with a token',
    )
  if (!can(caller, 'credential:run', owner)) {
    const whose = owner === own ? 'its credential' : "the application's credential"
    return {
      kind: 'forbidden',
      reason: `The hook sends the token of ${whose}, which requires the permission credential:run.`,
    }
  }
  const provider = { provider: owner.provider_code, baseUrl: owner.base_url }
  const errors: ErrorsByField = {}
  const originsIn = isLimited(owner.token_targets, tokenTargets) ? allOriginsOf : originsOf
  for (const request of requests) {
    const problem = originProblem(provider, originsIn([request]))
    if (problem !== undefined) errors[request.url.field] = [problem]
  }
  return Object.keys(errors).length > 0 ? { kind: 'invalid', errors } : undefined
}

/** Whether a preset may report on the commits of the application's repository with the token of its credential. */
export async function checkRepository(
  trx: Transaction,
  pipelineId: number,
  { settings: { preset }, credential_id }: ReturnType<typeof requestOf>,
): Promise<HttpProblem | undefined> {
  const source = preset && (await findSource(trx, pipelineId))
  if (!source) return undefined
  const owner =
    credential_id === null ? await findApplications(trx, pipelineId) : await findOwner(trx, credential_id)
  if (!owner) return undefined
  const { provider_code: provider, base_url: baseUrl, ssh_hosts: sshHosts } = owner
  const problem = repositoryProblem(preset, { provider, baseUrl, sshHosts }, source)
  return problem === undefined ? undefined : invalid('settings.preset', problem)
}

const invalid = (field: string, message: string): HttpProblem => ({
  kind: 'invalid',
  errors: { [field]: [message] },
})

const COLUMNS = [
  'credentials.id',
  'credentials.organization_id',
  'credentials.auth_type',
  'credentials.provider_code',
  'credentials.base_url',
  'credentials.ssh_hosts',
  'credentials.token_targets',
] as const

/** A credential, as far as a token is concerned. */
export function findOwner(trx: Transaction, id: number) {
  return trx.selectFrom('credentials').select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** The credential of the application that the pipeline belongs to. */
export function findApplications(trx: Transaction, pipelineId: number) {
  return trx
    .selectFrom('pipelines')
    .innerJoin('applications', 'applications.id', 'pipelines.application_id')
    .innerJoin('credentials', 'credentials.id', 'applications.credential_id')
    .select(COLUMNS)
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirst()
}

/** The repository of that application. */
async function findSource(trx: Transaction, pipelineId: number): Promise<Source | undefined> {
  const found = await trx
    .selectFrom('pipelines')
    .innerJoin('applications', 'applications.id', 'pipelines.application_id')
    .leftJoin('credentials', 'credentials.id', 'applications.credential_id')
    .select(['applications.repository', 'credentials.provider_code', 'credentials.base_url'])
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirst()
  if (!found) return undefined
  const { repository, provider_code: code, base_url: baseUrl } = found
  return { repository, provider: code && { code, baseUrl } }
}
