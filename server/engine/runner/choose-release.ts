import { sql, type Transaction } from 'kysely'
import type { Agreement } from '#adapters/repositories/resolve.ts'
import { lockScheduling } from '#engine/scheduling/scheduling-pass.ts'
import { freeReleaseName } from '#model/deploy/layout.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, Tables } from '#platform/database/tables.ts'
import { JobReassignedError } from './faults.ts'
import { persist } from './persist.ts'

/** The targets of an action: the first that finds the commit decides for all of them. */
export function agreeOnCommit(
  db: Database,
  { actionId, targetId, attempt }: { actionId: number; targetId: number; attempt: number },
  signal: AbortSignal,
): Agreement {
  async function settled(): Promise<string | null> {
    const { rows } = await sql<{ hash: string | null }>`
      select commit ->> 'hash' as hash from actions where id = ${actionId}`.execute(db)
    return rows[0]?.hash ?? null
  }
  return {
    agreed: () => persist(settled, signal),
    agree: (commit) =>
      persist(async () => {
        await sql`
          update actions set commit = ${JSON.stringify(commit)}, updated_at = clock_timestamp()
          where id = ${actionId} and commit is null
            and exists (select from targets where id = ${targetId} and attempt = ${attempt})`.execute(db)
        return (await settled()) ?? commit.hash
      }, signal),
  }
}

export type Release = { commit: Commit; releaseName: string }

/**
 * Settles what an action deploys, once for all its targets: the first that has found the commit decides, and
 * the others take the same. `isAnew`: the release that this target had begun belongs to an attempt that was
 * lost, so it gets another name; two releases of an application never share one.
 */
export async function chooseRelease(
  trx: Transaction<Tables>,
  owner: {
    actionId: number
    environmentId: number
    targetId: number
    attempt: number
    applicationId: number
  },
  found: Commit,
  isAnew: boolean,
): Promise<Release> {
  await lockScheduling(trx, [owner.environmentId])
  await demandTarget(trx, owner)
  const action = await trx
    .selectFrom('actions')
    .select(['commit', 'release_name'])
    .where('id', '=', owner.actionId)
    .executeTakeFirstOrThrow()
  const commit = action.commit ?? found
  let releaseName = action.release_name
  if (releaseName === null || isAnew) {
    releaseName = freeReleaseName(
      await databaseTime(trx),
      commit.hash!,
      await takenNames(trx, owner.applicationId),
    )
  }
  if (action.release_name === null || action.commit === null) {
    await trx
      .updateTable('actions')
      .set({
        commit: JSON.stringify(commit),
        release_name: action.release_name ?? releaseName,
        updated_at: new Date(),
      })
      .where('id', '=', owner.actionId)
      .execute()
  }
  await trx
    .updateTable('targets')
    .set({ release_name: releaseName })
    .where('id', '=', owner.targetId)
    .execute()
  return { commit, releaseName }
}

/** Under the lock that whoever takes a target over has to take as well. */
async function demandTarget(
  trx: Transaction<Tables>,
  { targetId, attempt }: { targetId: number; attempt: number },
): Promise<void> {
  const owned = await trx
    .selectFrom('targets')
    .select('id')
    .where('id', '=', targetId)
    .where('attempt', '=', attempt)
    .executeTakeFirst()
  if (!owned) throw new JobReassignedError('its release is not ours to choose.')
}

async function databaseTime(trx: Transaction<Tables>): Promise<Date> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::timestamptz(3) as at`.execute(trx)
  return new Date(rows[0]!.at)
}

/**
 * Names sort by time, so only recent ones can stand in the way. A target has another name than its action when
 * its first attempt was lost, or when a rollback did not find its release.
 */
async function takenNames(trx: Transaction<Tables>, applicationId: number): Promise<string[]> {
  const { rows } = await sql<{ release_name: string }>`
    select a.release_name from actions a join pipelines p on p.id = a.pipeline_id
    where p.application_id = ${applicationId}
      and a.release_name >= to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDDHH24MISS')
    union all
    select t.release_name from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    where p.application_id = ${applicationId} and (t.attempt > 1 or a.deployment ->> 'type' = 'rollback')
      and t.release_name >= to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDDHH24MISS')`.execute(trx)
  return rows.map((row) => row.release_name)
}
