// Whether the checks of a commit let a run pass: from what its host said, the settings that apply, and the clock. Pure. The
// table of scenarios in docs/guides/gates.md is that of the test.
import type { ChecksTerms, StoredCheck } from '#platform/database/tables.ts'
import { compileTerms } from './checks-terms.ts'

export type CheckState = 'waiting' | 'green' | 'red'

const GREEN = new Set(['success', 'neutral', 'skipped'])
const RED = new Set([
  ...['failure', 'failed', 'error', 'timed_out', 'cancelled', 'canceled'],
  ...['startup_failure', 'stale'],
])

/** What a state means that a host reports: one that is not known waits. */
export function stateOfCheck({ reported }: Pick<StoredCheck, 'reported'>): CheckState {
  if (GREEN.has(reported)) return 'green'
  return RED.has(reported) ? 'red' : 'waiting'
}

/** What a host said about a commit, and when; times in milliseconds. */
export type Observation = {
  /** Null: it has not answered yet. */
  checks: readonly StoredCheck[] | null
  changedAt: number | null
  answeredAt: number | null
  /** Why the last question was not answered. */
  problem: string | null
}

export const NOT_ASKED: Observation = { checks: null, changedAt: null, answeredAt: null, problem: null }

export type ChecksVerdict = {
  kind: 'green' | 'red' | 'waiting' | 'timeout'
  /** The check that it is about, if it is about one. */
  check: StoredCheck | null
  /** A sentence that names it; null when it is green. */
  message: string | null
  /** When a green one lets the run pass, if nothing changes. */
  settlesAt: number | null
}

type Clock = {
  now: number
  /** Since when the run waits. */
  since: number
  /** False: what is green now lets it pass. */
  settles: boolean
}

/** A run has to meet every setting that applies to it; the worst verdict counts. */
export function judgeChecks(
  settings: readonly ChecksTerms[],
  observation: Observation,
  clock: Clock,
): ChecksVerdict {
  const verdicts = settings.map((terms) => judgeSetting(terms, observation, clock))
  for (const kind of ['red', 'timeout', 'waiting'] as const) {
    const found = verdicts.find((verdict) => verdict.kind === kind)
    if (found) return found
  }
  return GREEN_VERDICT
}

const GREEN_VERDICT: ChecksVerdict = { kind: 'green', check: null, message: null, settlesAt: null }

type Holding = {
  check: StoredCheck | null
  /** Now, and at the timeout. */
  waiting: string
  expired: string
  settlesAt?: number
}

function judgeSetting(terms: ChecksTerms, observation: Observation, clock: Clock): ChecksVerdict {
  const considered = consideredChecks([terms], observation)
  const red = considered.find((check) => stateOfCheck(check) === 'red')
  if (red)
    return { kind: 'red', check: red, message: `${red.name} reported ${red.reported}.`, settlesAt: null }
  const holding = whatHolds(terms, considered, observation, clock)
  if (!holding) return GREEN_VERDICT
  const { check, waiting, expired, settlesAt = null } = holding
  const isLate = clock.now >= clock.since + terms.timeout_minutes * 60_000
  if (isLate) return { kind: 'timeout', check, message: expired, settlesAt: null }
  return { kind: 'waiting', check, message: waiting, settlesAt }
}

/** None of the considered checks is red. */
function whatHolds(
  terms: ChecksTerms,
  considered: readonly StoredCheck[],
  { checks, changedAt, answeredAt, problem }: Observation,
  clock: Clock,
): Holding | null {
  const { isExact, required } = compileTerms(terms)
  const after = `after ${counted(terms.timeout_minutes, 'minute')}`
  if (problem !== null)
    return { check: null, waiting: problem, expired: `The checks were not known ${after}. ${problem}` }
  if (checks === null || changedAt === null || answeredAt === null)
    return {
      check: null,
      waiting: 'The repository host has not been asked yet.',
      expired: `The repository host was not asked ${after}.`,
    }
  const open = considered.find((check) => stateOfCheck(check) === 'waiting')
  if (open)
    return {
      check: open,
      waiting: `Waiting for ${open.name} (${open.reported}).`,
      expired: `${open.name} was still ${open.reported} ${after}.`,
    }
  const missing = findMissing(required, considered)[0]
  if (missing !== undefined)
    return {
      check: null,
      waiting: `Waiting for ${missing}: the commit has no check of this name yet.`,
      expired: `There was no check ${missing} ${after}.`,
    }
  const suite = isExact ? undefined : openSuite(checks, considered)
  if (suite)
    return {
      check: suite,
      waiting: `Waiting for more checks of ${suite.name} (${suite.reported}).`,
      expired: `${suite.name} was still ${suite.reported} ${after}.`,
    }
  if (considered.length === 0 && terms.without_checks === 'fail')
    return {
      check: null,
      waiting: 'The commit has no checks yet.',
      expired: `The commit had no checks ${after}.`,
    }
  const settlesAt = changedAt + terms.settle_seconds * 1_000
  if (!clock.settles || answeredAt >= settlesAt) return null
  const state = considered.length === 0 ? 'The commit has no checks' : 'Every check is green'
  return {
    check: null,
    waiting: `${state}; waiting until nothing has changed for ${terms.settle_seconds} s.`,
    expired: `The checks kept changing for ${counted(terms.timeout_minutes, 'minute')}.`,
    settlesAt,
  }
}

/** Those that count for one of the settings. */
export function consideredChecks(
  settings: readonly ChecksTerms[],
  { checks }: Pick<Observation, 'checks'>,
): StoredCheck[] {
  const compiled = settings.map(compileTerms)
  return (checks ?? []).filter(
    ({ name, isSuite }) => !isSuite && compiled.some(({ considers }) => considers(name)),
  )
}

/** Names that have to be there, and are not. */
export function missingNames(settings: readonly ChecksTerms[], observation: Observation): string[] {
  const missing = settings.flatMap((terms) =>
    findMissing(compileTerms(terms).required, consideredChecks([terms], observation)),
  )
  return [...new Set(missing)]
}

function findMissing(required: readonly string[], considered: readonly StoredCheck[]): string[] {
  const present = new Set(considered.map(({ name }) => name))
  return required.filter((name) => !present.has(name))
}

/**
 * An app that has not said that its checks are complete: the next one appears when the one before is green. Suites without any
 * check are known only of an app that is about to add some. Those with nothing but ignored checks do not count.
 */
function openSuite(
  checks: readonly StoredCheck[],
  considered: readonly StoredCheck[],
): StoredCheck | undefined {
  const withChecks = new Set(checks.flatMap(({ suite, isSuite }) => (isSuite ? [] : (suite ?? []))))
  const counting = new Set(considered.flatMap(({ suite }) => suite ?? []))
  return checks.find(({ isSuite, suite }) => isSuite && (counting.has(suite!) || !withChecks.has(suite!)))
}

/** Whether the host said the same: what settling waits for. */
export function isSameAnswer(one: readonly StoredCheck[], other: readonly StoredCheck[]): boolean {
  if (one.length !== other.length) return false
  const reported = new Map(one.map((check) => [check.key, check.reported]))
  return other.every(({ key, reported: now }) => reported.get(key) === now)
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
