import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { requestChecks } from '#engine/scheduling/check-requests.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { judgeChecks } from '#model/gates/judge-checks.ts'
import { loadChecks, observationOf } from '#model/gates/load-checks.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { askCommit, type CommitDeps } from './ask-commit.ts'
import { claimCommit } from './commit-checks.ts'

/** How many of the shortest times between two questions after it has passed a run asks again: a minute. */
const STALE_AFTER = 4
/** Another process may be asking. */
const WAIT_MS = 250
const PATIENCE_MS = 70_000

type Due = {
  actionId: number
  environmentId: number
  passedAt: string
  commitChecksId: number
  dueSince: string
}

/**
 * A run that gets its slot later asks about its checks once more, while it holds the slot. If they are not green, the gate
 * closes again, and scheduling returns the slot.
 */
export async function recheck(deps: CommitDeps, targetId: number, signal: AbortSignal): Promise<void> {
  const due = await retryOutage(() => findDue(deps, targetId), signal)
  if (!due) return
  await retryOutage(() => askOnce(deps, due, signal), signal)
  await retryOutage(() => deps.db.transaction().execute((trx) => decideAgain(trx, deps.minMs, due)), signal)
}

async function findDue({ db, minMs }: CommitDeps, targetId: number): Promise<Due | undefined> {
  const { rows } = await sql<Due>`
    select a.id as "actionId", a.environment_id as "environmentId", r.passed_at as "passedAt",
      r.commit_checks_id as "commitChecksId", clock_timestamp()::timestamptz(3) as "dueSince"
    from targets t join actions a on a.id = t.action_id join check_requests r on r.action_id = a.id
    where t.id = ${targetId} and t.status = 'queued' and a.started_at is null and r.commit_checks_id is not null
      and r.passed_at < clock_timestamp() - ${STALE_AFTER * minMs}::float8 * interval '1 millisecond'`.execute(
    db,
  )
  return rows[0]
}

/** Unless the host was asked a moment ago. */
async function askOnce(deps: CommitDeps, { commitChecksId }: Due, signal: AbortSignal): Promise<void> {
  const { db, minMs } = deps
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const claimed = await claimCommit(db, { minMs, only: commitChecksId })
    if (claimed) return askCommit(deps, claimed, signal)
    const { rows } = await sql<{ isBusy: boolean }>`
      select leased_until > clock_timestamp() as "isBusy" from commit_checks where id = ${commitChecksId}`.execute(
      db,
    )
    if (!rows[0]?.isBusy || performance.now() > deadline) return
    await delay(WAIT_MS, undefined, { signal })
  }
}

/** Only what was said since then counts, and nothing has to settle. Closes the gate unless it is green. */
async function decideAgain(trx: Transaction, minMs: number, due: Due): Promise<void> {
  const { actionId, environmentId, passedAt, dueSince } = due
  const pass = await openSchedulingPass(trx, environmentId)
  const [facts] = await loadChecks(trx, [actionId])
  if (!facts || facts.passedAt !== passedAt) return
  const asked = { ...facts, since: new Date(Date.parse(dueSince) - minMs).toISOString() }
  const now = Date.parse(pass.at)
  const verdict = judgeChecks(facts.terms, observationOf(asked), { now, since: now, settles: false })
  if (verdict.kind !== 'green') return requestChecks(trx, [actionId])
  await sql`update check_requests set passed_at = ${pass.at} where action_id = ${actionId}`.execute(trx)
}
