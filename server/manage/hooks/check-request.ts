import type { Transaction } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { compileRequest, type HookRequest } from '#adapters/templates/compile.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

export type RequestVerdict =
  | { kind: 'fine' }
  | { kind: 'invalid'; errors: ErrorsByField }
  /** It uses the token of a credential that the caller may not use. */
  | { kind: 'forbidden'; reason: string }

/** The faults of the templates, and whether whoever saves the hook may send the token that they use. */
export async function checkRequest(
  trx: Transaction<Tables>,
  caller: Caller,
  pipelineId: number,
  request: HookRequest,
): Promise<RequestVerdict> {
  const compiled = compileRequest(request, templateNames())
  if (compiled.kind === 'invalid') return { kind: 'invalid', errors: compiled.errors }
  return compiled.request.usesAccessToken ? checkToken(trx, caller, pipelineId) : { kind: 'fine' }
}

async function checkToken(
  trx: Transaction<Tables>,
  caller: Caller,
  pipelineId: number,
): Promise<RequestVerdict> {
  const credential = await trx
    .selectFrom('pipelines')
    .innerJoin('applications', 'applications.id', 'pipelines.application_id')
    .innerJoin('credentials', 'credentials.id', 'applications.credential_id')
    .select(['credentials.organization_id', 'credentials.auth_type'])
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirst()
  if (credential?.auth_type !== 'token') {
    const message =
      'uses application.source_provider.access_token, but the application has no credential with a token'
    return { kind: 'invalid', errors: { settings: [message] } }
  }
  const { organization_id } = credential
  if (can(caller, 'credential:run', { organization_id })) return { kind: 'fine' }
  const reason =
    "The hook sends the access token of the application's credential, which requires the permission credential:run."
  return { kind: 'forbidden', reason }
}

const LONGEST_LOOKUP_MS = 3_000

/** Whether the receiver's address may be called at all. A name that cannot be resolved now passes: it may be later. */
export async function checkReceiver(
  guard: AddressGuard,
  targetUrl: string,
): Promise<ErrorsByField | undefined> {
  const host = URL.parse(targetUrl)?.hostname
  if (!host) return undefined
  const unknown = new Promise<undefined>((resolve) =>
    setTimeout(resolve, LONGEST_LOOKUP_MS, undefined).unref(),
  )
  const verdict = await Promise.race([guard.check(host), unknown])
  return verdict?.kind === 'refused' ? { target_url: [verdict.message] } : undefined
}
