import { type RawBuilder, sql } from 'kysely'
import { type Actor, type Removal, recordAudits } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { removeHook } from '#manage/hooks/manage-hooks.ts'
import { type LockedEnvironment, lockForChange } from '#model/pipelines/lock-environment.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRows, NOW } from '#platform/database/rows.ts'
import { conflict, type HttpProblem, listNames, REMOVED } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { audited } from './manage-pipelines.ts'
import { findPipeline, findPipelines } from './read-pipelines.ts'

// Removing a pipeline, and what removing a server or an application has in common with it: dependents, cascade
// and unfinished runs.

/** `cascade` also removes its hooks, and other pipelines no longer run after it. */
export async function removePipeline(trx: Transaction, { id, caller, actor, cascade, ifMatch }: Removal) {
  const held = await lockForChange(trx, 'pipelines', id, findAgainstRuns, ifMatch)
  if (held.kind !== 'locked') return held
  const hooks = await hooksOf(trx, [id])
  const problem =
    (cascade && checkCascade(caller, held.scope, { 'hook:remove': hooks })) ||
    (await checkUnfinished(trx, sql`a.pipeline_id = ${id}`)) ||
    (!cascade &&
      checkDependents('The pipeline', {
        hooks: ['hook', hooks],
        run_after: ['pipeline', await followersOf(trx, id), ' after it'],
      }))
  if (problem) return problem
  await removePipelines(trx, actor, held.scope.organization_id, [id])
  return REMOVED
}

async function findAgainstRuns(trx: Transaction, id: number) {
  await lockAgainstRuns(trx, [id])
  return findPipeline(trx, id)
}

/** Starting a run locks its pipeline: until the transaction ends, nobody can start one. */
export async function lockAgainstRuns(trx: Transaction, ids: readonly number[]): Promise<void> {
  await sql`select id from pipelines where id = any(${ids}::bigint[]) order by id for update`.execute(trx)
}

/** A cascade removes only what the caller could remove one by one. */
export function checkCascade(
  caller: Caller,
  scope: LockedEnvironment,
  removed: Partial<Record<Permission, readonly unknown[]>>,
): HttpProblem | undefined {
  const missing = (Object.keys(removed) as Permission[]).filter(
    (permission) => removed[permission]!.length > 0 && !can(caller, permission, scope),
  )
  if (missing.length === 0) return undefined
  return {
    kind: 'forbidden',
    reason: `You need the permission ${missing.join(' and ')} to remove what depends on it.`,
  }
}

type Named = { name: string }

/** By error field: what depends on it, as in `1 hook: Push`, and what comes after the names. */
export function checkDependents(
  what: string,
  dependents: Record<string, readonly [noun: string, rows: readonly Named[], suffix?: string]>,
): HttpProblem | undefined {
  const errors: ErrorsByField = {}
  for (const [field, [noun, rows, suffix = '']] of Object.entries(dependents)) {
    const names = rows.map(({ name }) => name)
    if (names.length > 0) errors[field] = [`${listNames(noun, names)}${suffix}`]
  }
  const reasons = Object.values(errors).flat().join('; ')
  if (reasons === '') return undefined
  return conflict(`${what} is still in use (${reasons}): remove that first, or add ?cascade=true.`, errors)
}

/** `which` is a condition on `a`, the actions. */
export async function checkUnfinished(trx: Transaction, which: RawBuilder<unknown>) {
  const { rows } = await sql<{ unfinished: number }>`
    select count(*) as unfinished from actions a
    where ${which} and a.status in ('pending', 'waiting', 'queued', 'in-progress')`.execute(trx)
  const { unfinished } = rows[0]!
  if (unfinished === 0) return undefined
  const runs = unfinished === 1 ? '1 run is' : `${unfinished} runs are`
  return conflict(`${runs} not finished: wait, or cancel first.`, { actions: [`${runs} not finished`] })
}

/**
 * The rows stay, because runs reference them. Hooks are removed as if one by one. The caller has locked and
 * checked everything.
 */
export async function removePipelines(
  trx: Transaction,
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
    .set({ deleted_at: NOW, updated_at: NOW })
    .where(anyOf('id', ids))
    .execute()
  const removed = { organizationId, verb: 'removed', after: null }
  await recordAudits(trx, actor, [
    ...hooks.map(({ id, name, type }) => ({
      ...removed,
      subject: { type: 'hook', id, name },
      before: { name, type },
    })),
    ...rows.map((row) => ({
      ...removed,
      subject: { type: 'pipeline', id: row.id, name: row.name },
      before: audited(row),
    })),
  ])
}

export function pipelinesOf(trx: Transaction, owner: 'application_id' | 'server_id', ids: readonly number[]) {
  return findRows(trx, 'pipelines', { [owner]: ids, deleted_at: null }, ['id', 'name'], { orderBy: 'id' })
}

export function hooksOf(trx: Transaction, pipelineIds: readonly number[]) {
  return findRows(trx, 'hooks', { pipeline_id: pipelineIds, deleted_at: null }, ['id', 'name', 'type'], {
    orderBy: 'created_at',
  })
}

function followersOf(trx: Transaction, id: number): Promise<Named[]> {
  return trx
    .selectFrom('pipeline_run_after')
    .innerJoin('pipelines', 'pipelines.id', 'pipeline_run_after.pipeline_id')
    .select('pipelines.name')
    .where('after_pipeline_id', '=', id)
    .orderBy('pipelines.id')
    .execute()
}
