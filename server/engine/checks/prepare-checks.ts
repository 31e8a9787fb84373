// Before a host can be asked about a run, a worker finds its commit, which stays the one, and where its repository is.
import { sql } from 'kysely'
import { tryLater } from '#engine/gates/claim-due.ts'
import { findWaiting, type Waiting } from '#engine/gates/find-waiting.ts'
import { type PinDeps, type Pinned, pinSources } from '#engine/gates/pin-sources.ts'
import { askEarly } from '#engine/scheduling/verify-approval.ts'
import { locateRepository } from '#model/connections/locate-repository.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { findOrCreate } from './commit-checks.ts'
import { type DecideDeps, endWithoutSource, forget } from './decide-runs.ts'

export type PrepareDeps = PinDeps & DecideDeps & { minMs: number }

export async function prepareChecks(
  deps: PrepareDeps,
  actionId: number,
  signal: AbortSignal,
): Promise<'unreachable' | undefined> {
  const { db } = deps
  const [run] = await retryOutage(() => findWaiting(db, 'check_requests', [actionId]), signal)
  if (!run) return void (await forget(db, actionId))
  const known = await knownCommit(db, actionId)
  const source = known ? { kind: 'pinned' as const, commit: known } : await pinOne(deps, run, signal)
  if (source.kind === 'unreachable') {
    await retryOutage(() => tryLater(db, 'check_requests', actionId, source.message), signal)
    return 'unreachable'
  }
  if (source.kind === 'failed') return void (await endWithoutSource(deps, run, source.message))
  // Whether or not the host can be asked.
  await retryOutage(() => askEarly(db, sql`a.id = ${actionId}`), signal)
  const problem = await retryOutage(() => askFor(deps, run, source.commit), signal)
  // A person may change the application, or its credential.
  if (problem !== undefined)
    await retryOutage(() => tryLater(db, 'check_requests', actionId, problem), signal)
}

async function pinOne(deps: PinDeps, run: Waiting, signal: AbortSignal): Promise<Pinned> {
  return (await pinSources(deps, [run], signal)).get(run.actionId)!
}

/** Found when the run was at the gate before. */
async function knownCommit(db: Database, actionId: number): Promise<string | null> {
  const { rows } = await sql<{ hash: string }>`
    select a.commit ->> 'hash' as hash from actions a join check_requests r on r.action_id = a.id
    where a.id = ${actionId} and r.commit_checks_id is not null`.execute(db)
  return rows[0]?.hash ?? null
}

/** Why the host of the repository cannot be asked; undefined when it is. */
async function askFor(
  { db, minMs }: PrepareDeps,
  { actionId, applicationId }: Waiting,
  commit: string | null,
): Promise<string | undefined> {
  if (applicationId === null || commit === null) return 'The run has no commit.'
  const row = await db
    .selectFrom('applications')
    .leftJoin('credentials', (join) =>
      join
        .onRef('credentials.id', '=', 'applications.credential_id')
        .on('credentials.deleted_at', 'is', null)
        .on('credentials.active', '=', true),
    )
    .select(['repository', 'credentials.id', 'provider_code', 'base_url as baseUrl', 'auth_type'])
    .where('applications.id', '=', applicationId)
    .executeTakeFirstOrThrow()
  const { id, repository, provider_code: provider, baseUrl, auth_type } = row
  const credential = provider === null ? null : { provider, baseUrl, hasToken: auth_type === 'token' }
  const located = locateRepository(repository, credential)
  if ('problem' in located) return located.problem
  await db.transaction().execute(async (trx) => {
    const commitChecksId = await findOrCreate(trx, located, { credentialId: id!, commit, minMs })
    await sql`
      update check_requests set commit_checks_id = ${commitChecksId}, problem = null, due_at = null
      where action_id = ${actionId}`.execute(trx)
  })
  return undefined
}
