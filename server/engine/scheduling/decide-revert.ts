import { sql } from 'kysely'
import type { State } from '#model/actions/status.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { LiveBefore, StoredStep } from '#platform/database/tables.ts'
import { judgeFailure, KEEP, type StepMarks, type Verdict } from './revert-plan.ts'

type Facts = {
  type: string
  onFailure: 'revert' | 'keep'
  liveBefore: LiveBefore | null
  isUnknown: boolean
  revertsAll: boolean
  marks: StepMarks[] | null
}

/** Whether a target that would end with this step goes back instead. Cancelling never goes back. */
export async function decideRevert(
  trx: Transaction,
  target: { id: number; actionId: number },
  steps: readonly StoredStep[],
  failed: { order: number; end: State },
): Promise<Verdict> {
  if (failed.end.status !== 'failed' || failed.end.reason === 'FAILED_CANCELLED') return KEEP
  const { type, marks, ...facts } = await loadFacts(trx, target.id)
  if (type !== 'deploy') return KEEP
  const doneElsewhere = await findIrreversible(trx, target.actionId, marks ?? [])
  return judgeFailure({ ...facts, steps, order: failed.order, marks: marks ?? [], doneElsewhere })
}

async function loadFacts(trx: Transaction, targetId: number): Promise<Facts> {
  const { rows } = await sql<Facts>`
    select a.type, p.on_failure as "onFailure", t.live_before as "liveBefore",
      coalesce(p.rollout ->> 'on_failure', '') = 'revert_all' as "revertsAll",
      exists (select from unknown_live_releases unknown where unknown.application_id = p.application_id
        and unknown.server_id = t.server_id and unknown.target_id = t.id) as "isUnknown", (
      select json_agg(json_build_object('id', s.id, 'name', s.name, 'builtIn', s.built_in,
        'irreversible', s.irreversible, 'runOnRevert', s.run_on_revert) order by s.id)
      from pipeline_steps s
      where s.id in (select (step ->> 'step_id')::bigint from jsonb_array_elements(t.steps) as step)
    ) as marks
    from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    where t.id = ${targetId}`.execute(trx)
  return rows[0]!
}

export async function loadMarks(trx: Transaction, targetId: number): Promise<StepMarks[]> {
  return (await loadFacts(trx, targetId)).marks ?? []
}

/** Which irreversible steps have completed on any server of the action. */
export async function findIrreversible(
  trx: Transaction,
  actionId: number,
  marks: readonly StepMarks[],
): Promise<number[]> {
  const ids = marks.flatMap(({ id, irreversible }) => (irreversible ? id : []))
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: number }>`
    select distinct (step ->> 'step_id')::bigint as id
    from targets t cross join lateral jsonb_array_elements(t.steps) as step
    where t.action_id = ${actionId} and step ->> 'status' = 'completed'
      and (step ->> 'step_id')::bigint = any(${ids}::bigint[])`.execute(trx)
  return rows.map((row) => row.id)
}
