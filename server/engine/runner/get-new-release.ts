import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import type { Agreement } from '#adapters/repositories/resolve.ts'
import type { Submodule } from '#adapters/repositories/submodule-paths.ts'
import { demandSpace, extractRelease, finishRelease, takeLock } from '#model/deploy/commands.ts'
import { freeReleaseName } from '#model/deploy/layout.ts'
import { canActivateAgain } from '#model/deploy/remove-old-releases.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import type { Commit } from '#platform/database/tables.ts'
import type { Run } from './load-run.ts'
import { findReleases, pruneLeftovers } from './prune-releases.ts'
import { recordChanges } from './record-changes.ts'
import { recordRelease } from './releases-on-disk.ts'
import {
  attemptOf,
  baseOf,
  DONE,
  failed,
  runCommand,
  type StepContext,
  type StepHandler,
  type StepOutcome,
  timedOut,
} from './step.ts'

export const isRollback = ({ deployment }: Pick<Run, 'deployment'>) => deployment?.type === 'rollback'

/** The built-in step that brings a release to the server: found there (rollback), or fetched and unpacked. */
export function createGetNewRelease(deps: { db: Database; repositories: Repositories }): StepHandler {
  const { db, repositories } = deps
  return async (context) => {
    const { run, attempt } = context
    const locked = await runCommand(context, takeLock(baseOf(run), attemptOf(context)))
    if (locked.kind !== 'done') return locked
    const pruned = await pruneLeftovers(db, context, isRollback(run) ? run.releaseName : null)
    if (pruned.kind !== 'done') return pruned
    if (isRollback(run) && run.releaseName !== null) {
      const found = await findReleases(context)
      if ('kind' in found) return found
      if (canActivateAgain(found, run.releaseName)) {
        run.isRolledBack = true
        run.hasRelease = true
        await context.line(`Release ${run.releaseName} is still on the server: reusing it.`)
        await recordShipped(deps, context, null)
        return DONE
      }
      await context.line(`Release ${run.releaseName} is no longer on the server: building it again.`)
      const space = await runCommand(context, demandSpace(baseOf(run)))
      if (space.kind !== 'done') return space
    }
    const resolved = await resolve(db, repositories, context)
    if ('kind' in resolved) return resolved
    const release = await retryOutage(
      () => attempt.locked((trx) => chooseRelease(trx, run, resolved.commit)),
      context.signal,
    )
    Object.assign(run, release)
    await recordShipped(deps, context, originOf(run))
    return unpack(repositories, context, resolved.submodules)
  }
}

async function resolve(
  db: Database,
  repositories: Repositories,
  { run, step, attempt, ...context }: StepContext,
): Promise<{ commit: Commit; submodules: Submodule[] } | StepOutcome> {
  const { submodules: mode, rootDirectory } = run.application!
  const timeUp = AbortSignal.timeout(context.leftMs())
  const signal = AbortSignal.any([context.signal, timeUp])
  const lines: Promise<void>[] = []
  const found = await repositories
    .resolve({
      ...originOf(run),
      ...sourceOf(run),
      agreement: agreeOnCommit(db, attempt, signal),
      submodules: { mode, rootDirectory },
      signal,
      onLine: (text) => void lines.push(context.line(text)),
    })
    .catch((error) => {
      if (context.signal.aborted) return { kind: 'stopped' as const }
      if (timeUp.aborted) return { kind: 'timed-out' as const }
      throw error
    })
  await Promise.all(lines)
  if (found.kind === 'resolved') return { commit: found.commit, submodules: found.submodules }
  if (found.kind === 'stopped') return found
  return found.kind === 'timed-out' ? timedOut(step) : failed('FAILED_SOURCE', found.message)
}

/** Where the source comes from, and the login there. */
export function originOf({ application }: Run) {
  const { id: applicationId, repository, provider, token, sshKey } = application!
  return { applicationId, repository, provider, token, sshKey }
}

/** What to get from there. */
export function sourceOf({ commit, deployment }: Run) {
  const hash = commit?.hash
  if (hash != null) return { source: { type: 'commit' as const, ref: hash }, resolvedBefore: true }
  return {
    source: { type: deployment!.source_type as 'branch' | 'tag' | 'commit', ref: deployment!.source_ref! },
  }
}

/** The branch that a run deploys; null: something else. */
export function branchOf({ deployment }: Run): string | null {
  return deployment?.source_type === 'branch' ? deployment.source_ref : null
}

/** `fetch`: how to get a live commit that the mirror lacks. A release that is on the server already waits for none. */
async function recordShipped(
  deps: { db: Database; repositories: Repositories },
  { run, signal, leftMs }: StepContext,
  fetch: ReturnType<typeof originOf> | null,
): Promise<void> {
  const { actionId, application, server, commit } = run
  if (!commit?.hash) return
  await recordChanges(deps, {
    actionIds: [actionId],
    applicationId: application!.id,
    serverIds: [server.id],
    to: commit.hash,
    branch: branchOf(run),
    fetch: fetch && { ...fetch, onLine: () => {} },
    signal: AbortSignal.any([signal, AbortSignal.timeout(leftMs())]),
  })
}

/** Unpacks first and makes it a release afterward: tar mistakes a truncated archive for a complete one. */
async function unpack(
  repositories: Repositories,
  context: StepContext,
  submodules: readonly Submodule[],
): Promise<StepOutcome> {
  const { run, signal } = context
  const { id, rootDirectory, sharedPaths } = run.application!
  const shared = readSharedPaths(sharedPaths)
  if (shared.kind === 'invalid') {
    const each = shared.problems.map(({ index, message }) => `number ${index + 1}: ${message}`)
    return failed('FAILED', `The shared paths of the application are invalid (${each.join('; ')}).`)
  }
  const source = { applicationId: id, hash: run.commit!.hash!, rootDirectory, submodules }
  const archive = repositories.archive({ ...source, signal })
  const input = new PassThrough()
  const sent = pipeline(archive, input).then(
    () => undefined,
    (error: Error) => error,
  )
  const release = [baseOf(run), attemptOf(context), run.releaseName!] as const
  const extracted = await runCommand(context, { ...extractRelease(...release), input }).catch(() => undefined)
  const error = await sent
  if (extracted && extracted.kind !== 'done') return extracted
  if (signal.aborted) return { kind: 'stopped' }
  if (error || !extracted)
    return failed('FAILED_SOURCE', `Sending the source failed: ${error?.message ?? 'the connection broke'}`)
  const finished = await runCommand(context, finishRelease(...release, shared.paths))
  if (finished.kind === 'done') run.hasRelease = true
  return finished
}

/** Between the targets of an action: the first that finds the commit decides for all of them. */
export function agreeOnCommit(
  db: Database,
  { actionId, targetId, attempt }: { actionId: number; targetId: number; attempt: number },
  signal: AbortSignal,
): Agreement {
  async function agreed(): Promise<string | null> {
    const { rows } = await sql<{ hash: string | null }>`
      select commit ->> 'hash' as hash from actions where id = ${actionId}`.execute(db)
    return rows[0]?.hash ?? null
  }
  return {
    agreed: () => retryOutage(agreed, signal),
    agree: (commit) =>
      retryOutage(async () => {
        await sql`
          update actions set commit = ${JSON.stringify(commit)}, updated_at = clock_timestamp()
          where id = ${actionId} and commit is null
            and exists (select from targets where id = ${targetId} and attempt = ${attempt})`.execute(db)
        return (await agreed()) ?? commit.hash
      }, signal),
  }
}

/**
 * Decides what an action deploys, once for all its targets: the first that has found the commit decides, the
 * others use the same. A target whose release belongs to a lost attempt (`needsNewRelease`) gets another name: two
 * releases of an application never share one. Call it under the scheduling lock, which a new attempt takes too.
 */
async function chooseRelease(
  trx: Transaction,
  { actionId, targetId, application, server, needsNewRelease }: Run,
  found: Commit,
): Promise<{ commit: Commit; releaseName: string }> {
  const action = await trx
    .selectFrom('actions')
    .select(['commit', 'release_name', sql<string>`clock_timestamp()::timestamptz(3)`.as('at')])
    .where('id', '=', actionId)
    .executeTakeFirstOrThrow()
  const commit = action.commit ?? found
  const releaseName =
    needsNewRelease || action.release_name === null
      ? freeReleaseName(new Date(action.at), commit.hash!, await takenNames(trx, application!.id, action.at))
      : action.release_name
  if (action.release_name === null || action.commit === null) {
    await trx
      .updateTable('actions')
      .set({
        commit: JSON.stringify(commit),
        release_name: action.release_name ?? releaseName,
        updated_at: new Date(),
      })
      .where('id', '=', actionId)
      .execute()
  }
  await trx.updateTable('targets').set({ release_name: releaseName }).where('id', '=', targetId).execute()
  await recordRelease(trx, { applicationId: application!.id, serverId: server.id }, releaseName)
  return { commit, releaseName }
}

/**
 * Names sort by time, so only recent ones can collide. A target has another name than its action when its first
 * attempt was lost, or when a rollback did not find its release.
 */
async function takenNames(trx: Transaction, applicationId: number, at: string): Promise<string[]> {
  const earliest = sql`to_char(${at}::timestamptz at time zone 'UTC', 'YYYYMMDDHH24MISS')`
  const { rows } = await sql<{ release_name: string }>`
    select a.release_name from actions a join pipelines p on p.id = a.pipeline_id
    where p.application_id = ${applicationId}
      and a.release_name >= ${earliest}
    union all
    select t.release_name from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    where p.application_id = ${applicationId} and (t.attempt > 1 or a.deployment ->> 'type' = 'rollback')
      and t.release_name >= ${earliest}`.execute(trx)
  return rows.map((row) => row.release_name)
}
