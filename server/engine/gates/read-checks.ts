import { sql } from 'kysely'
import { isEnd } from '#model/actions/status.ts'
import { NEEDS_CHECKS } from '#model/gates/checks-sql.ts'
import { judgeChecks, missingNames } from '#model/gates/judge-checks.ts'
import {
  type ChecksFacts,
  loadChecks,
  noticeOf,
  observationOf,
  shownCheck,
  shownChecks,
} from '#model/gates/load-checks.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Status } from '#platform/database/tables.ts'
import { GATES } from '#platform/vocabulary.ts'
import type { ChecksDetails, GateRecord } from './schemas.ts'

type Row = {
  status: Status
  needsChecks: boolean
  now: string
  overrides: { reason: string; user: { id: number; name: string }; created_at: string }[]
}

const NOTHING: ChecksDetails = {
  is_preparing: false,
  commit: null,
  message: null,
  waiting_for: null,
  checks: [],
  total: 0,
  missing: [],
  settles_at: null,
  asked_at: null,
  problem: null,
  notice: null,
  overrides: [],
}

/** The gate of the checks; undefined when the run never waited for any. */
export async function readChecksGate(db: Database, actionId: number): Promise<GateRecord | undefined> {
  const row = await findRun(db, actionId)
  const [facts] = await loadChecks(db, [actionId])
  if (!row || (!facts && !row.needsChecks && row.overrides.length === 0)) return undefined
  const overrides = row.overrides.map((one) => ({ ...one, created_at: iso(one.created_at)! }))
  const gate = { gate: 'checks' as const, gate_human_readable: GATES.checks }
  const overridden = overrides.at(-1)?.created_at
  if (!facts) {
    const details = { ...NOTHING, is_preparing: row.needsChecks && !isEnd(row.status), overrides }
    const state = overridden === undefined ? 'closed' : 'overridden'
    return { ...gate, state, since: overridden ?? null, until: null, details }
  }
  if (row.needsChecks && !isEnd(row.status)) {
    const details = { ...describe(facts, row), overrides }
    return { ...gate, state: 'closed', since: iso(facts.since), until: iso(facts.expiresAt), details }
  }
  const details = { ...describeEnd(facts), overrides }
  // Or it ended for another reason before they were green.
  const hasFailed = isEnd(row.status) && facts.passedAt === null && overridden === undefined
  if (hasFailed) return { ...gate, state: 'failed', since: iso(facts.since), until: null, details }
  const isOverridden = overridden !== undefined && facts.passedAt === null
  const since = isOverridden ? overridden : (iso(facts.passedAt) ?? iso(facts.since))
  return { ...gate, state: isOverridden ? 'overridden' : 'open', since, until: null, details }
}

/** Of a run that waits. */
function describe(facts: ChecksFacts, { now }: Row): Omit<ChecksDetails, 'overrides'> {
  const observation = observationOf(facts)
  const clock = { now: Date.parse(now), since: Date.parse(facts.since), settles: true }
  const { message, check, settlesAt } = judgeChecks(facts.terms, observation, clock)
  const found = check && shownCheck(check)
  return {
    is_preparing: facts.isPreparing,
    commit: facts.commit,
    message: facts.isPreparing && facts.problem === null ? null : message,
    waiting_for: found && { ...found, since: iso(found.since) },
    ...withTimes(shownChecks(facts)),
    missing: observation.checks === null ? [] : missingNames(facts.terms, observation),
    settles_at: settlesAt === null ? null : new Date(settlesAt).toISOString(),
    asked_at: iso(facts.answer?.askedAt ?? null),
    problem: observation.problem,
    notice: noticeOf(facts),
  }
}

function describeEnd({ result, commit, answer, problem }: ChecksFacts): Omit<ChecksDetails, 'overrides'> {
  if (!result) return { ...NOTHING, commit, message: problem, problem }
  return {
    ...NOTHING,
    commit: result.commit,
    message: result.message,
    waiting_for: result.state === 'failed' ? result.holding : null,
    ...withTimes(result),
    asked_at: iso(answer?.askedAt ?? null),
    notice: result.notice,
  }
}

const withTimes = ({ checks, total }: ReturnType<typeof shownChecks>) => ({
  checks: checks.map((check) => ({ ...check, since: iso(check.since) })),
  total,
})

async function findRun(db: Database, actionId: number): Promise<Row | undefined> {
  const { rows } = await sql<Row>`
    select a.status, ${NEEDS_CHECKS} as "needsChecks",
      clock_timestamp()::timestamptz(3) as now, coalesce((
        select json_agg(json_build_object('reason', o.reason, 'user', json_build_object('id', u.id, 'name', u.name),
          'created_at', o.created_at) order by o.id)
        from gate_overrides o join users u on u.id = o.user_id where o.action_id = a.id and o.gate = 'checks'), '[]')
        as overrides
    from actions a where a.id = ${actionId}`.execute(db)
  return rows[0]
}

const iso = (time: string | null) => time && new Date(time).toISOString()
