// What an answer of a host means for the runs that wait for it: they pass the gate, end there, or keep waiting. Under the lock of
// their environment: of an answer, an override, a cancellation and the timeout, the first one counts.
import { sql } from 'kysely'
import { endAtChecks, openChecks } from '#engine/gates/settle-gate.ts'
import type { EnqueueTargets } from '#engine/scheduling/assign-slots.ts'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import type { ScheduledAction } from '#engine/scheduling/scheduled-action.ts'
import { openSchedulingPass, type SchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { CHECKS_FAILED, type State } from '#model/actions/status.ts'
import { judgeChecks } from '#model/gates/judge-checks.ts'
import { type ChecksFacts, loadChecks, observationOf, resultOf } from '#model/gates/load-checks.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { stopAsking } from './commit-checks.ts'

export type DecideDeps = { db: Database; enqueueTargets: EnqueueTargets; onMoves?: OnMoves }

/** How many one transaction decides about: it holds the lock of the environment. */
const AT_ONCE = 100

type Run = { actionId: number; environmentId: number }

/** Everything that waits for a commit. */
export async function decideAbout(deps: DecideDeps, commitChecksId: number): Promise<void> {
  const { rows } = await sql<Run>`
    select action_id as "actionId", environment_id as "environmentId" from check_requests
    where commit_checks_id = ${commitChecksId} and expires_at is not null order by action_id`.execute(deps.db)
  await decideRuns(deps, rows)
  await stopAsking(deps.db, commitChecksId)
}

export async function decideRuns(deps: DecideDeps, runs: readonly Run[]): Promise<void> {
  for (const [environmentId, group] of Map.groupBy(runs, (run) => run.environmentId)) {
    const ids = group.map(({ actionId }) => actionId)
    for (let start = 0; start < ids.length; start += AT_ONCE)
      await decideSome(deps, environmentId, ids.slice(start, start + AT_ONCE))
  }
}

function decideSome(
  { db, onMoves, enqueueTargets }: DecideDeps,
  environmentId: number,
  ids: readonly number[],
): Promise<void> {
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const actions = new Map((await pass.load(ids)).map((action) => [action.id, action]))
    for (const facts of await loadChecks(trx, ids)) {
      const action = actions.get(facts.actionId)
      if (action?.reason !== 'WAITING_CHECKS') await forget(trx, facts.actionId)
      else await decide(pass, action, facts, enqueueTargets)
    }
  }
  return reportMoves(db, onMoves, work, environmentId)
}

async function decide(
  pass: SchedulingPass,
  action: ScheduledAction,
  facts: ChecksFacts,
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  const clock = { now: Date.parse(pass.at), since: Date.parse(facts.since), settles: true }
  const verdict = judgeChecks(facts.terms, observationOf(facts), clock)
  if (verdict.kind === 'waiting') return
  const isOpen = verdict.kind === 'green'
  const result = JSON.stringify(resultOf(facts, isOpen ? 'open' : 'failed', verdict))
  await sql`
    update check_requests set expires_at = null, due_at = null, result = ${result}::jsonb,
      passed_at = case when ${isOpen}::boolean then ${pass.at}::timestamptz end
    where action_id = ${action.id}`.execute(pass.trx)
  if (isOpen) await openChecks(pass, action, enqueueTargets)
  else await endAtChecks(pass, action, CHECKS_FAILED, enqueueTargets)
}

const SOURCE: State = { status: 'failed', reason: 'FAILED_SOURCE' }

export async function endWithoutSource(
  { db, onMoves, enqueueTargets }: DecideDeps,
  { actionId, environmentId }: Run,
  message: string,
): Promise<void> {
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const [action] = await pass.load([actionId])
    if (action?.reason !== 'WAITING_CHECKS') return forget(trx, actionId)
    await sql`
      update check_requests set problem = ${message}, expires_at = null, due_at = null
      where action_id = ${actionId}`.execute(trx)
    await endAtChecks(pass, action, SOURCE, enqueueTargets)
  }
  await reportMoves(db, onMoves, work, environmentId)
}

/** It waits no longer: it was canceled, let through, or superseded. */
export async function forget(db: Database, actionId: number): Promise<void> {
  await sql`
    update check_requests set due_at = null, expires_at = null where action_id = ${actionId}`.execute(db)
}

const EXPIRE_AT_ONCE = 100
/** An answer that is older says too little about a run that has waited for its last chance. */
const FRESH = sql`interval '5 minutes'`

/**
 * Ends what has waited too long. If its host has not been asked for a while, because nothing was running, it is asked once
 * more first.
 */
export async function expireDue(deps: DecideDeps & { onError: (error: Error) => void }): Promise<void> {
  await sql`
    update commit_checks c set due_at = clock_timestamp() from check_requests r
    where r.commit_checks_id = c.id and r.expires_at <= clock_timestamp() and c.problem is null
      and c.due_at > clock_timestamp() and c.asked_at < clock_timestamp() - ${FRESH}`.execute(deps.db)
  const { rows } = await sql<Run>`
    select r.action_id as "actionId", r.environment_id as "environmentId" from check_requests r
    left join commit_checks c on c.id = r.commit_checks_id
    where r.expires_at <= clock_timestamp()
      and (c.id is null or c.problem is not null or c.asked_at > clock_timestamp() - ${FRESH})
    order by r.expires_at limit ${EXPIRE_AT_ONCE}`.execute(deps.db)
  for (const run of rows) await decideRuns(deps, [run]).catch(deps.onError)
}
