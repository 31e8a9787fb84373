// The setting `wait_for_checks` of a pipeline: whether it can be stored, by whom, and from when on it applies.
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { lockScheduling } from '#model/actions/lock-scheduling.ts'
import { HOSTS } from '#model/connections/hosts.ts'
import { locateRepository } from '#model/connections/locate-repository.ts'
import { findPatternErrors, isLooser } from '#model/gates/checks-terms.ts'
import type { ResourceName } from '#model/inventory/local-servers.ts'
import type { LockedEnvironment } from '#model/pipelines/lock-environment.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { ChecksTerms } from '#platform/database/tables.ts'
import { FieldErrors, type HttpProblem, invalidAt } from '#platform/http/problems.ts'

type Setting = {
  scope: LockedEnvironment
  resource: ResourceName
  operation: string
  before: ChecksTerms | null
  terms: ChecksTerms | null
}

export async function checkWaiting(
  trx: Transaction,
  caller: Caller,
  { scope, resource, operation, before, terms }: Setting,
): Promise<HttpProblem | undefined> {
  if (terms !== null && operation !== 'deploy')
    return invalidAt('wait_for_checks', 'is only for pipelines that deploy; set it to null')
  if (isDeepStrictEqual(before, terms)) return undefined
  if (isLooser(before, terms) && !can(caller, 'environment:edit', scope))
    return {
      kind: 'forbidden',
      reason: 'To loosen what runs wait for (wait_for_checks) requires the permission environment:edit.',
    }
  return terms ? ((await checkHost(trx, resource.id)) ?? checkPatterns(terms)) : undefined
}

/** Checks are asked for with the credential that the source is fetched with. */
async function checkHost(trx: Transaction, applicationId: number): Promise<HttpProblem | undefined> {
  const row = await trx
    .selectFrom('applications')
    .leftJoin('credentials', (join) =>
      join
        .onRef('credentials.id', '=', 'applications.credential_id')
        .on('credentials.deleted_at', 'is', null)
        .on('credentials.active', '=', true),
    )
    .select(['applications.repository', 'provider_code', 'base_url as baseUrl', 'auth_type'])
    .where('applications.id', '=', applicationId)
    .executeTakeFirstOrThrow()
  const { repository, provider_code: provider, baseUrl, auth_type } = row
  const credential = provider === null ? null : { provider, baseUrl, hasToken: auth_type === 'token' }
  const located = locateRepository(repository, credential)
  return 'problem' in located ? invalidAt('wait_for_checks', `cannot be used: ${located.problem}`) : undefined
}

function checkPatterns(terms: ChecksTerms): HttpProblem | undefined {
  const errors = new FieldErrors()
  for (const [field, message] of Object.entries(findPatternErrors(terms)))
    errors.add(`wait_for_checks.${field}`, message)
  return errors.problem
}

/**
 * From the moment of the commit on, nothing starts without: runs are judged under the same lock. Those that wait give up
 * earlier if the new setting says so.
 */
export async function storeChecksTerms(
  trx: Transaction,
  { id, environmentId }: { id: number; environmentId: number },
  terms: ChecksTerms | null,
): Promise<void> {
  await lockScheduling(trx, [environmentId])
  await sql`
    update checks_terms set until = clock_timestamp() where pipeline_id = ${id} and until is null`.execute(
    trx,
  )
  if (!terms) return
  await subscribe(trx, id)
  await trx
    .insertInto('checks_terms')
    .values({ pipeline_id: id, terms: JSON.stringify(terms) })
    .execute()
  await sql`
    update check_requests
    set expires_at = least(expires_at, since + ${terms.timeout_minutes}::int * interval '1 minute')
    where pipeline_id = ${id} and expires_at is not null`.execute(trx)
}

/** The hosts of connected hooks also call when checks change. They keep doing so when the setting is removed. */
async function subscribe(trx: Transaction, pipelineId: number): Promise<void> {
  for (const [provider, { checksEvents }] of Object.entries(HOSTS))
    await sql`
      update hook_connections c set task = 'connect', version = version + 1, failures = 0, due_at = now(),
        events = array(select distinct event from unnest(c.events || ${[...checksEvents]}::text[]) as event order by 1)
      from hooks h
      where h.id = c.hook_id and h.pipeline_id = ${pipelineId} and c.provider = ${provider}
        and not c.events @> ${[...checksEvents]}::text[] and not '*' = any(c.events)`.execute(trx)
}
