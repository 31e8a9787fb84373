import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import type { CompiledRequest } from '#adapters/templates/compile.ts'
import { authorizeUse } from '#manage/credentials/credential-use.ts'
import { type EffectiveRequest, effectiveRequest } from '#model/hooks/effective-request.ts'
import { isAboutCommits } from '#model/hooks/presets/schema.ts'
import { repositoryProblem } from '#model/hooks/repository-host.ts'
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
import { type HttpProblem, invalidAt } from '#platform/http/problems.ts'
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
  const { organization_id } = await loadSubject(trx, pipelineId, id)
  const use = await authorizeUse(trx, caller, organization_id, id)
  if (use.kind !== 'usable') return use
  const { auth_type } = use.credential
  return auth_type === 'token' ? undefined : invalidAt('credential_id', 'has no token to send')
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
  const { own, ofApplication } = await loadSubject(trx, pipelineId, named.id)
  if (mixesTokens(uses, named.id, ofApplication?.id ?? null))
    return invalidAt(
      'settings',
      'uses the tokens of two credentials: application.source_provider.access_token and credential.access_token',
    )
  const owner = uses.credential && own ? own : ofApplication
  if (owner?.auth_type !== 'token')
    return invalidAt(
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
  if (!preset) return undefined
  const { repository, credential, ofApplication } = await loadSubject(trx, pipelineId, credential_id)
  if (repository === null || !credential) return undefined
  const { provider_code: provider, base_url: baseUrl, ssh_hosts: sshHosts } = credential
  const host = ofApplication && { code: ofApplication.provider_code, baseUrl: ofApplication.base_url }
  const source = { repository, provider: host ?? null }
  const problem = repositoryProblem(preset, { provider, baseUrl, sshHosts }, source)
  return problem === undefined ? undefined : invalidAt('settings.preset', problem)
}

/** What the hook would send with the credential that it has once it is saved, or why it cannot have that preset. */
export async function expandRequest(
  trx: Transaction,
  pipelineId: number,
  request: ReturnType<typeof requestOf>,
): Promise<EffectiveRequest | { kind: 'unfit'; errors: ErrorsByField }> {
  const { settings, credential_id } = request
  if (!settings.preset) return effectiveRequest(request, null)
  const { repository, credential } = await loadSubject(trx, pipelineId, credential_id)
  if (isAboutCommits(settings.preset.kind) && repository === null)
    return { kind: 'unfit', errors: { 'settings.preset.kind': [NO_COMMITS] } }
  if (!credential) return effectiveRequest(request, null)
  const { provider_code: provider, base_url: baseUrl } = credential
  return effectiveRequest(request, { provider, baseUrl })
}

const NO_COMMITS = 'reports on commits: the pipeline must belong to an application'

/**
 * The repository that hooks of a pipeline report on, if it belongs to an application. `credential`: with that the hook
 * sends, its own or that of the application.
 */
async function loadSubject(trx: Transaction, pipelineId: number, credentialId: number | null) {
  const pipeline = await trx
    .selectFrom('pipelines')
    .innerJoin('environments', 'environments.id', 'pipelines.environment_id')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .leftJoin('applications', 'applications.id', 'pipelines.application_id')
    .select(['projects.organization_id', 'applications.repository', 'applications.credential_id'])
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirstOrThrow()
  const ofApplication = await findCredential(trx, pipeline.credential_id)
  const own = await findCredential(trx, credentialId)
  return { ...pipeline, own, ofApplication, credential: credentialId === null ? ofApplication : own }
}

/** A credential, as far as a token is concerned: without the token itself. */
async function findCredential(trx: Transaction, id: number | null) {
  if (id === null) return undefined
  return trx
    .selectFrom('credentials')
    .select(['id', 'organization_id', 'auth_type', 'provider_code', 'base_url', 'ssh_hosts', 'token_targets'])
    .where('id', '=', id)
    .executeTakeFirst()
}
