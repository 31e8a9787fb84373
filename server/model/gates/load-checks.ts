import { sql } from 'kysely'
import { anyId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ChecksResult, ChecksTerms, StoredCheck } from '#platform/database/tables.ts'
import { CHECKS_TERMS } from './checks-sql.ts'
import {
  type ChecksVerdict,
  consideredChecks,
  NOT_ASKED,
  type Observation,
  stateOfCheck,
} from './judge-checks.ts'

/** What decides about a run that waits for checks. */
export type ChecksFacts = {
  actionId: number
  since: string
  expiresAt: string | null
  passedAt: string | null
  /** Why its commit, or whom to ask about it, is not known. */
  problem: string | null
  result: ChecksResult | null
  isPreparing: boolean
  terms: ChecksTerms[]
  commit: string | null
  answer: {
    checks: StoredCheck[] | null
    changedAt: string | null
    answeredAt: string | null
    askedAt: string | null
    problem: string | null
    isPartial: boolean
  } | null
}

/** Of runs that have been at the gate. */
export async function loadChecks(db: Database, actionIds: readonly number[]): Promise<ChecksFacts[]> {
  const { rows } = await sql<ChecksFacts>`
    select a.id as "actionId", r.since, r.expires_at as "expiresAt", r.passed_at as "passedAt", r.problem, r.result,
      r.commit_checks_id is null or c.answered_at is null and c.problem is null as "isPreparing", ${CHECKS_TERMS} as terms,
      a.commit ->> 'hash' as commit, case when c.id is not null then json_build_object('checks', c.checks,
        'changedAt', c.changed_at, 'answeredAt', c.answered_at, 'askedAt', c.asked_at, 'problem', c.problem,
        'isPartial', c.is_partial) end as answer
    from actions a join check_requests r on r.action_id = a.id
    left join commit_checks c on c.id = r.commit_checks_id
    where a.id = ${anyId(actionIds)} order by a.id`.execute(db)
  return rows
}

/** What the host has said since the run began to wait. */
export function observationOf({ answer, problem, since }: ChecksFacts): Observation {
  if (answer === null) return { ...NOT_ASKED, problem }
  const { checks, changedAt, answeredAt } = answer
  if (answeredAt === null || Date.parse(answeredAt) < Date.parse(since))
    return { ...NOT_ASKED, problem: answer.problem }
  return {
    checks,
    changedAt: changedAt === null ? null : Date.parse(changedAt),
    answeredAt: Date.parse(answeredAt),
    problem: answer.problem,
  }
}

/** More are not shown. */
const MAX_SHOWN = 200
const HOLDS_FIRST = ['red', 'waiting', 'green']

/** Its checks, those that hold it first. */
export function shownChecks({ terms, answer }: Pick<ChecksFacts, 'terms' | 'answer'>) {
  const considered = consideredChecks(terms, { checks: answer?.checks ?? null })
  const all = considered.map((check) => shownCheck(check))
  const order = ({ state }: (typeof all)[number]) => HOLDS_FIRST.indexOf(state)
  const checks = all.sort((one, other) => order(one) - order(other) || (one.name < other.name ? -1 : 1))
  return { checks: checks.slice(0, MAX_SHOWN), total: checks.length }
}

export function shownCheck(check: StoredCheck): ChecksResult['checks'][number] {
  const { name, reported, link, since } = check
  return { name, state: stateOfCheck(check), reported, link, since }
}

const PARTIAL =
  'The token cannot read check runs: workflow runs of GitHub Actions and commit statuses count, checks of other apps are invisible.'

export const noticeOf = ({ answer }: Pick<ChecksFacts, 'answer'>) => (answer?.isPartial ? PARTIAL : null)

/** What is kept of it when it leaves the gate. */
export function resultOf(
  facts: ChecksFacts,
  state: ChecksResult['state'],
  { message, check }: ChecksVerdict,
): ChecksResult {
  const holding = check && shownCheck(check)
  return { state, message, holding, ...shownChecks(facts), commit: facts.commit, notice: noticeOf(facts) }
}
