import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import type { LockedEnvironment } from '#model/pipelines/lock-environment.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRows } from '#platform/database/rows.ts'
import { FieldErrors, type HttpProblem, invalidAt } from '#platform/http/problems.ts'

/** `id` is null for a new pipeline: nothing can run after it yet. */
type Follower = { id: number | null; name: string }

/** The environment must be locked, so that no cycle can appear between this check and the write. */
export async function checkRunAfter(
  trx: Transaction,
  caller: Caller,
  scope: LockedEnvironment,
  follower: Follower,
  wanted: readonly number[],
): Promise<HttpProblem | undefined> {
  if (wanted.length === 0) return undefined
  const inEnvironment = { environment_id: scope.environment_id, deleted_at: null }
  const known = byId(await findRows(trx, 'pipelines', inEnvironment, ['id', 'name']))
  const unknown = new FieldErrors()
  wanted.forEach((id, index) => {
    if (!known.has(id) || !can(caller, 'pipeline:view', scope))
      unknown.add(`run_after.${index}`, `${id} is not a pipeline of this environment`)
  })
  if (unknown.any) return { kind: 'unknown', errors: unknown.found }
  if (follower.id === null) return undefined

  const cycle = findCycle(await loadRunAfter(trx, scope.environment_id), follower.id, wanted)
  if (!cycle) return undefined
  const names = cycle.map((id) => (id === follower.id ? follower.name : known.get(id)!.name))
  const message = `creates a cycle in which each pipeline runs after the next: ${names.join(' → ')}`
  return invalidAt('run_after', message)
}

async function loadRunAfter(trx: Transaction, environmentId: number): Promise<Map<number, number[]>> {
  const links = await findRows(trx, 'pipeline_run_after', { environment_id: environmentId }, [
    'pipeline_id',
    'after_pipeline_id',
  ])
  const byFollower = Map.groupBy(links, (link) => link.pipeline_id)
  return new Map([...byFollower].map(([id, group]) => [id, group.map((link) => link.after_pipeline_id)]))
}

export async function storeRunAfter(
  trx: Transaction,
  environment_id: number,
  pipeline_id: number,
  wanted: readonly number[],
): Promise<void> {
  await trx.deleteFrom('pipeline_run_after').where('pipeline_id', '=', pipeline_id).execute()
  if (wanted.length === 0) return
  await trx
    .insertInto('pipeline_run_after')
    .values(wanted.map((after_pipeline_id) => ({ pipeline_id, after_pipeline_id, environment_id })))
    .execute()
}

/** The pipelines that each pipeline runs after. */
type RunAfter = ReadonlyMap<number, readonly number[]>

/**
 * The cycle that results if `id` runs after `wanted`, from `id` to `id`: each one runs after the next. Undefined
 * when there is none. Pure.
 */
export function findCycle(known: RunAfter, id: number, wanted: readonly number[]): number[] | undefined {
  const seen = new Set<number>()
  const open = wanted.map((next) => [id, next])
  for (let path = open.pop(); path; path = open.pop()) {
    const last = path.at(-1)!
    if (last === id) return path
    if (seen.has(last)) continue
    seen.add(last)
    for (const next of known.get(last) ?? []) open.push([...path, next])
  }
  return undefined
}
