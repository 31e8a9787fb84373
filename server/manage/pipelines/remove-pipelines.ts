import { sql, type Transaction } from 'kysely'
import { type Actor, recordAudits } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { removeHook } from '#manage/hooks/manage-hooks.ts'
import { type EnvironmentHeld, lockAround } from '#model/pipelines/lock-environment.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { conflict, type HttpProblem, listNames } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { findPipeline, findPipelines } from './find-pipelines.ts'
import { audited, type ChangeDeps } from './manage-pipelines.ts'

export type Removed = { kind: 'removed' } | HttpProblem

/** `cascade`: with its hooks, and other pipelines no longer run after it. */
export async function removePipeline(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  id: number,
  { cascade, ifMatch }: { cascade: boolean; ifMatch?: string },
): Promise<Removed> {
  const held = await lockAround(trx, 'pipelines', id)
  if (!held) return { kind: 'gone' }
  await lockAgainstRuns(trx, [id])
  const stored = (await findPipeline(trx, id))!
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const hooks = await hooksOf(trx, [id])
  const refusal =
    (cascade && refuseCascade(caller, held, [[hooks.length, 'hook:remove']])) ||
    (await refuseUnfinished(trx, [id])) ||
    (!cascade && (await refuseDependants(trx, id, hooks)))
  if (refusal) return refusal
  await removePipelines(trx, actor, held.organization_id, [id])
  return { kind: 'removed' }
}

/** A cascade takes only what the caller might remove one by one. */
export function refuseCascade(
  caller: Caller,
  place: EnvironmentHeld,
  goes: readonly (readonly [count: number, needs: Permission])[],
): HttpProblem | undefined {
  const lacking = goes.flatMap(([count, needs]) => (count > 0 && !can(caller, needs, place) ? [needs] : []))
  if (lacking.length === 0) return undefined
  return {
    kind: 'forbidden',
    reason: `You need the permission ${lacking.join(' and ')} for what goes with it.`,
  }
}

/** Whoever starts a run holds its pipeline: until the end of the transaction nobody starts one. */
export async function lockAgainstRuns(trx: Transaction<Tables>, ids: readonly number[]): Promise<void> {
  await sql`select id from pipelines where id = any(${ids}::bigint[]) order by id for update`.execute(trx)
}

export async function refuseUnfinished(
  trx: Transaction<Tables>,
  pipelineIds: readonly number[],
): Promise<HttpProblem | undefined> {
  const { rows } = await sql<{ unfinished: number }>`
    select count(*) as unfinished from actions
    where pipeline_id = any(${pipelineIds}::bigint[]) and status in ('pending', 'waiting', 'queued', 'in-progress')`.execute(
    trx,
  )
  const { unfinished } = rows[0]!
  if (unfinished === 0) return undefined
  const runs = unfinished === 1 ? '1 run is' : `${unfinished} runs are`
  return conflict(`${runs} not finished: wait, or cancel first.`, { actions: [`${runs} not finished`] })
}

/**
 * The rows stay, because runs name them. Hooks go as if each had been removed by itself. The caller has locked
 * and checked.
 */
export async function removePipelines(
  trx: Transaction<Tables>,
  actor: Actor,
  organizationId: number,
  ids: readonly number[],
): Promise<void> {
  const rows = await findPipelines(trx, ids)
  const hooks = await hooksOf(trx, ids)
  for (const { type, id } of hooks) await removeHook(trx, type, id)
  await trx
    .deleteFrom('pipeline_run_after')
    .where((eb) => eb.or([anyOf('pipeline_id', ids), anyOf('after_pipeline_id', ids)]))
    .execute()
  await trx
    .updateTable('pipelines')
    .set({ deleted_at: sql<string>`now()`, updated_at: sql<string>`now()` })
    .where(anyOf('id', ids))
    .execute()
  await recordAudits(trx, actor, [
    ...hooks.map(({ id, name, type }) => ({
      organizationId,
      verb: 'removed',
      subject: { type: 'hook', id, name },
      before: { name, type },
      after: null,
    })),
    ...rows.map((row) => ({
      organizationId,
      verb: 'removed',
      subject: { type: 'pipeline', id: row.id, name: row.name },
      before: audited(row),
      after: null,
    })),
  ])
}

type KnownHook = { id: string; name: string; type: 'incoming' | 'outgoing' }

export function hooksOf(trx: Transaction<Tables>, pipelineIds: readonly number[]): Promise<KnownHook[]> {
  return trx
    .selectFrom('hooks')
    .select(['id', 'name', 'type'])
    .where(anyOf('pipeline_id', pipelineIds))
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .execute()
}

async function refuseDependants(
  trx: Transaction<Tables>,
  id: number,
  hooks: readonly KnownHook[],
): Promise<HttpProblem | undefined> {
  const followers = await trx
    .selectFrom('pipeline_run_after')
    .innerJoin('pipelines', 'pipelines.id', 'pipeline_run_after.pipeline_id')
    .select('pipelines.name')
    .where('after_pipeline_id', '=', id)
    .orderBy('pipelines.id')
    .execute()
  const errors: ErrorsByField = {}
  if (hooks.length > 0)
    errors.hooks = [
      listNames(
        'hook',
        hooks.map(({ name }) => name),
      ),
    ]
  if (followers.length > 0)
    errors.run_after = [
      `${listNames(
        'pipeline',
        followers.map(({ name }) => name),
      )} after it`,
    ]
  return Object.keys(errors).length === 0 ? undefined : refuseWith('The pipeline', errors)
}

/** `The pipeline is still used (1 hook: Push): remove that first, or add ?cascade=true.` */
export function refuseWith(what: string, errors: ErrorsByField): HttpProblem {
  const reasons = Object.values(errors).flat().join('; ')
  return conflict(`${what} is still in use (${reasons}): remove that first, or add ?cascade=true.`, errors)
}
