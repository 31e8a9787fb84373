import { sql } from 'kysely'
import type { CommitRecord } from '#adapters/repositories/commits.ts'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import { agreeOnCommit, branchOf, originOf, sourceOf } from '#engine/runner/get-new-release.ts'
import { loadRun } from '#engine/runner/load-run.ts'
import { recordChanges } from '#engine/runner/record-changes.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { serversOf, type Waiting } from './find-waiting.ts'
import type { RemoveOldPins } from './old-pins.ts'

export type PinDeps = {
  db: Database
  box: SecretBox
  repositories: Repositories
  removeOldPins: RemoveOldPins
}

export type Pinned =
  | { kind: 'pinned'; commit: string | null }
  | { kind: 'failed'; message: string }
  /** It is known which commit it is, and its host does not serve it right now. */
  | { kind: 'unreachable'; message: string }

/**
 * The first one to find the commit of a run decides; from then on its branch may go anywhere. Runs of an application that
 * deploy the same share the way there: all of them came before the newest one asked.
 */
export async function pinSources(
  deps: PinDeps,
  runs: readonly Waiting[],
  signal: AbortSignal,
): Promise<Map<number, Pinned>> {
  const pinned = new Map<number, Pinned>()
  for (const alike of Map.groupBy(runs, alikeOf).values()) {
    for (const [id, one] of await pinAlike(deps, alike, signal)) pinned.set(id, one)
  }
  return pinned
}

/** What a run may ship with others: each rollback has its own release. */
function alikeOf(run: Waiting): string {
  const { actionId, applicationId, isDeploy, isRollback, commit, source } = run
  if (!isDeploy || applicationId === null) return 'nothing'
  if (isRollback) return `rollback ${actionId}`
  return JSON.stringify([applicationId, commit ?? source, serversOf(run)])
}

async function pinAlike(
  deps: PinDeps,
  alike: readonly Waiting[],
  signal: AbortSignal,
): Promise<Map<number, Pinned>> {
  const { db, box, repositories, removeOldPins } = deps
  const all = (runs: readonly Waiting[], one: Pinned) => new Map(runs.map(({ actionId }) => [actionId, one]))
  const newest = alike[0]!
  const { actionId, applicationId, isDeploy, isRollback, commit, targets, now } = newest
  if (!isDeploy || applicationId === null) return all(alike, { kind: 'pinned', commit: null })
  const target = targets[0]!
  const run = await retryOutage(() => loadRun(db, box, target.id), signal)
  if ('kind' in run) return all(alike, { kind: 'failed', message: run.message })
  const fetch = { ...originOf(run), onLine: () => {} }
  const owner = { actionId, targetId: target.id, attempt: target.attempt }
  const since = Math.max(...alike.map(({ askedAt }) => Date.parse(askedAt)))
  const resolved = await repositories.resolve({
    ...fetch,
    ...sourceOf(run),
    agreement: agreeOnCommit(db, owner, signal),
    asked: { since, now: Date.parse(now) },
    signal,
  })
  // Its release may still be on the servers.
  if (resolved.kind !== 'resolved' && isRollback) return all(alike, { kind: 'pinned', commit })
  if (resolved.kind === 'failed' && resolved.temporary && commit !== null)
    return all(alike, { kind: 'unreachable', message: resolved.message })
  if (resolved.kind !== 'resolved') return all(alike, { kind: 'failed', message: resolved.message })
  const { hash } = resolved.commit
  const others = alike.slice(1)
  const agreed = commit === null ? await agreeWith(db, others, resolved.commit, signal) : others
  const same = [newest, ...agreed]
  const actionIds = same.map((one) => one.actionId)
  await repositories.pin({ applicationId, actionIds, hash, signal })
  await removeOldPins(applicationId, signal)
  const branch = branchOf(run)
  await recordChanges(
    { db, repositories },
    { actionIds, applicationId, serverIds: serversOf(newest), to: hash, branch, fetch, signal },
  )
  signal.throwIfAborted()
  const pinned = all(same, { kind: 'pinned', commit: hash })
  // Another process found another commit for these.
  for (const one of others.filter((other) => !agreed.includes(other)))
    for (const [id, found] of await pinAlike(deps, [one], signal)) pinned.set(id, found)
  return pinned
}

/** Those of these runs that deploy this commit from now on. */
function agreeWith(
  db: Database,
  runs: readonly Waiting[],
  commit: CommitRecord,
  signal: AbortSignal,
): Promise<Waiting[]> {
  if (runs.length === 0) return Promise.resolve([])
  const owners = runs.map(({ actionId, targets: [target] }) => ({ actionId, ...target! }))
  const agree = async () => {
    await sql`
      update actions set commit = ${JSON.stringify(commit)}, updated_at = clock_timestamp()
      from json_to_recordset(${JSON.stringify(owners)}::json) as owner ("actionId" bigint, id bigint, attempt int)
      join targets t on t.id = owner.id and t.attempt = owner.attempt
      where actions.id = owner."actionId" and actions.commit is null`.execute(db)
    const { rows } = await sql<{ id: number }>`
      select id from actions where id = any(${owners.map(({ actionId }) => actionId)}::bigint[])
        and commit ->> 'hash' = ${commit.hash}`.execute(db)
    const ids = new Set(rows.map(({ id }) => id))
    return runs.filter(({ actionId }) => ids.has(actionId))
  }
  return retryOutage(agree, signal)
}
