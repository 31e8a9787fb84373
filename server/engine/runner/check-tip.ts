import { sql } from 'kysely'
import type { HttpClient } from '#adapters/http-client/client.ts'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import type { TargetLifecycle } from '#engine/scheduling/target-lifecycle.ts'
import { OUTDATED } from '#model/actions/status.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { Log } from '#platform/queue/core.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import type { StartOutcome } from './check-paths.ts'
import { agreeOnCommit, originOf, sourceOf } from './get-new-release.ts'
import { loadRun } from './load-run.ts'

type Deps = {
  db: Database
  box: SecretBox
  log: Log
  lifecycle: TargetLifecycle
  repositories: Repositories
  http: HttpClient
}

/** For finding the commit. When the time is up, the newest call for the branch decides. */
const WITHIN_MS = 600_000
const TIP_WITHIN_MS = 20_000

const STARTS: StartOutcome = { kind: 'starts', note: null }

/**
 * Decides about a run of a call that came late (engine/connecting/catch-up.ts), before anything of it starts: it ends as
 * SKIPPED_OUTDATED when its commit is no longer that of its branch. A late call never downgrades a server.
 */
export async function checkTip(deps: Deps, targetId: number, job: JobContext): Promise<StartOutcome> {
  const checked = await retryOutage(() => findCheck(deps.db, targetId), job.signal)
  if (!checked) return STARTS
  const watch = deps.lifecycle.watchCancellation(checked.actionId)
  const signal = AbortSignal.any([job.signal, watch.signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    if (!(await isOutdated(deps, checked, targetId, signal))) return STARTS
    const verify = async () => 'unchanged' as const
    const skipped = await retryOutage(() => deps.lifecycle.skip(targetId, job, OUTDATED, verify), job.signal)
    return skipped === 'skipped' ? { kind: 'skipped' } : STARTS
  } catch (error) {
    job.signal.throwIfAborted()
    if (watch.signal.aborted) return STARTS
    if (!signal.aborted)
      deps.log.error({ err: error, target_id: targetId }, 'a late call could not be judged')
    throw error
  } finally {
    watch.stop()
  }
}

type TipCheck = { actionId: number; applicationId: number; attempt: number; hookId: string; branch: string }

/** Of a late call, unless a person has replayed it. */
async function findCheck(db: Database, targetId: number): Promise<TipCheck | undefined> {
  const { rows } = await sql<TipCheck>`
    select a.id as "actionId", p.application_id as "applicationId", t.attempt, m.hook_id as "hookId",
      coalesce(a.branch, substr(m.ref, length('refs/heads/') + 1)) as branch
    from targets t
    join actions a on a.id = t.action_id
    join pipelines p on p.id = a.pipeline_id
    join hook_requests r on r.id = a.hook_request_id
    join missed_calls m on m.hook_id = r.hook_id and m.delivery_id = r.delivery_id
    where t.id = ${targetId} and a.trigger_type = 'hook' and a.triggered_by is null and a.type = 'deploy'
      and a.started_at is null and a.completed_at is null and p.application_id is not null
      and starts_with(m.ref, 'refs/heads/')`.execute(db)
  return rows[0]
}

async function isOutdated(
  { db, box, repositories, http }: Deps,
  { actionId, applicationId, attempt, hookId, branch }: TipCheck,
  targetId: number,
  signal: AbortSignal,
): Promise<boolean> {
  const run = await retryOutage(() => loadRun(db, box, targetId), signal)
  // The run itself says what is wrong.
  if ('kind' in run) return false
  const origin = originOf(run)
  const asked = { ...origin, branches: [branch], http, withinMs: TIP_WITHIN_MS, signal }
  const read = await repositories.readTips(applicationId, asked)
  const tip =
    read.kind === 'read'
      ? (read.tips.get(branch) ?? null)
      : await retryOutage(() => readNewest(db, hookId, branch), signal)
  const { source } = sourceOf(run)
  // It may be gone since, so it is not looked for.
  if (source.type === 'commit' && COMMIT.test(source.ref)) return tip !== undefined && tip !== source.ref
  const resolved = await repositories.resolve({
    ...origin,
    ...sourceOf(run),
    onLine: () => {},
    agreement: agreeOnCommit(db, { actionId, targetId, attempt }, signal),
    signal,
  })
  signal.throwIfAborted()
  if (resolved.kind !== 'resolved') return false
  return tip !== undefined && tip !== resolved.commit.hash
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** The commit of the newest call for the branch. */
async function readNewest(db: Database, hookId: string, branch: string): Promise<string | undefined> {
  const { rows } = await sql<{ commit: string }>`
    select commit from called_branches where hook_id = ${hookId} and branch = ${branch}`.execute(db)
  return rows[0]?.commit
}
