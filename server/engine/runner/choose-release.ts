import { sql } from 'kysely'
import type { Agreement } from '#adapters/repositories/resolve.ts'
import { freeReleaseName } from '#model/deploy/layout.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'
import type { Run } from './load-run.ts'
import { persist } from './persist.ts'

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
    agreed: () => persist(agreed, signal),
    agree: (commit) =>
      persist(async () => {
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
export async function chooseRelease(
  trx: Transaction,
  { actionId, targetId, application, needsNewRelease }: Run,
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
