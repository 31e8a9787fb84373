// The table of scenarios in docs/guides/gates.md, and the details behind it.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ChecksTerms, StoredCheck } from '#platform/database/tables.ts'
import { isLooser, wholeChecks } from './checks-terms.ts'
import { isSameAnswer, judgeChecks, missingNames, NOT_ASKED, type Observation } from './judge-checks.ts'

const MINUTE = 60_000
/** When the run began to wait, and when something changed last. */
const CHANGED = 1_000_000

/** `build: success`, `build@7: success` in suite 7, `[7]: queued` for the suite itself. */
function checksOf(text: string): StoredCheck[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter(Boolean).map((part, index) => {
    const [left, reported] = part.split(': ') as [string, string]
    const ofSuite = /^\[(.+)\]$/.exec(left)
    const [name, id] = ofSuite ? ['GitHub Actions', ofSuite[1]] : left.split('@')
    return {
      key: `${index}`,
      name: name!,
      reported,
      link: null,
      since: null,
      ...(id !== undefined && { suite: id }),
      ...(ofSuite && { isSuite: true }),
    }
  })
}

type Row = [
  scenario: string,
  checks: string | null,
  terms: Partial<ChecksTerms>,
  verdict: string,
  more?: More,
]
type More = { after?: number; settled?: number; problem?: string; settles?: boolean }

const ROWS: Row[] = [
  ['one check is green', 'build: success', {}, 'green'],
  ['every check is green, neutral or skipped', 'a: success, b: neutral, c: skipped', {}, 'green'],
  ['a check is queued', 'build: queued', {}, 'waiting: build'],
  ['a check is running', 'build: in_progress, lint: success', {}, 'waiting: build'],
  ['a check is pending', 'ci/test: pending', {}, 'waiting: ci/test'],
  ['a check waits for a person', 'deploy: action_required', {}, 'waiting: deploy'],
  ['a manual job blocks', 'deploy: manual', {}, 'waiting: deploy'],
  ['a state that no one knows', 'x: moonstruck', {}, 'waiting: x'],
  ['a warning is neither green nor red', 'lint: warning', {}, 'waiting: lint'],
  ['a check failed', 'build: failure', {}, 'red: build'],
  ['a job failed (GitLab)', 'build: failed', {}, 'red: build'],
  ['a status is an error', 'ci: error', {}, 'red: ci'],
  ['a check timed out', 'build: timed_out', {}, 'red: build'],
  ['a check was canceled', 'build: cancelled', {}, 'red: build'],
  ['a job was canceled (GitLab)', 'build: canceled', {}, 'red: build'],
  ['a workflow could not start', 'GitHub Actions: startup_failure', {}, 'red: GitHub Actions'],
  ['a check became stale', 'build: stale', {}, 'red: build'],
  ['one is red while others run', 'a: in_progress, b: failure, c: queued', {}, 'red: b'],
  ['two of one name, one red', 'test: success, test: failure', {}, 'red: test'],
  ['two of one name, one running', 'test: success, test: in_progress', {}, 'waiting: test'],
  ['two of one name, both green', 'test: success, test: success', {}, 'green'],
  [
    'its suite is not completed: more jobs may come',
    'build@7: success, [7]: in_progress',
    {},
    'waiting: GitHub Actions',
  ],
  ['its suite is completed', 'build@7: success', {}, 'green'],
  [
    'a suite of GitHub Actions is queued without any check',
    'lint: success, [8]: queued',
    {},
    'waiting: GitHub Actions',
  ],
  [
    'a suite that stays queued forever',
    'lint: success, [8]: queued',
    {},
    'timeout: GitHub Actions',
    { after: 60 },
  ],
  [
    'a suite with ignored checks only',
    'e2e@7: queued, [7]: queued, build: success',
    { ignore: ['e2e'] },
    'green',
  ],
  ['a suite, but the check is named', 'build@7: success, [7]: in_progress', { names: ['build'] }, 'green'],
  [
    'a suite, and names with a wildcard',
    'build@7: success, [7]: in_progress',
    { names: ['b*'] },
    'waiting: GitHub Actions',
  ],
  ['a named check is green', 'build: success, lint: failure', { names: ['build'] }, 'green'],
  ['a named check is red', 'build: failure', { names: ['build'] }, 'red: build'],
  ['a named check is not there yet', 'lint: success', { names: ['build'] }, 'waiting'],
  ['one of two named checks is not there', 'build: success', { names: ['build', 'lint'] }, 'waiting'],
  ['a named check never appears', 'lint: success', { names: ['build'] }, 'timeout', { after: 60 }],
  ['a wildcard matches some', 'test / unit: success, lint: failure', { names: ['test / *'] }, 'green'],
  ['a wildcard does not cross a slash', 'ci/a/b: success', { names: ['ci/*'] }, 'waiting'],
  ['two stars do', 'ci/a/b: success', { names: ['ci/**'] }, 'green'],
  ['a wildcard matches none', 'lint: success', { names: ['test*'] }, 'waiting'],
  ['an ignored check is red', 'build: success, flaky: failure', { ignore: ['flaky'] }, 'green'],
  ['an ignored check runs', 'build: success, nightly/1: queued', { ignore: ['nightly/*'] }, 'green'],
  ['a check is named and ignored', 'build: success', { names: ['build'], ignore: ['build'] }, 'waiting'],
  ['no checks', '', {}, 'waiting'],
  ['no checks, at the timeout', '', {}, 'timeout', { after: 60 }],
  ['no checks, proceed', '', { without_checks: 'proceed' }, 'green'],
  ['no checks, proceed, not settled', '', { without_checks: 'proceed' }, 'waiting', { settled: 10 }],
  ['only ignored checks, proceed', 'x: failure', { without_checks: 'proceed', ignore: ['x'] }, 'green'],
  ['no checks, proceed, but one is named', '', { without_checks: 'proceed', names: ['build'] }, 'waiting'],
  ['green, not settled', 'build: success', {}, 'waiting', { settled: 29 }],
  ['green, just settled', 'build: success', {}, 'green', { settled: 30 }],
  ['green, without settling', 'build: success', { settle_seconds: 0 }, 'green', { settled: 0 }],
  ['green, when asked again with a slot', 'build: success', {}, 'green', { settled: 0, settles: false }],
  ['running, when asked again with a slot', 'build: queued', {}, 'waiting: build', { settles: false }],
  ['red before anything has settled', 'build: failure', {}, 'red: build', { settled: 0 }],
  ['running at the timeout', 'build: in_progress', {}, 'timeout: build', { after: 60 }],
  ['running a moment before', 'build: in_progress', {}, 'waiting: build', { after: 59.9 }],
  ['a shorter timeout', 'build: in_progress', { timeout_minutes: 5 }, 'timeout: build', { after: 5 }],
  ['green and settled at the timeout', 'build: success', {}, 'green', { after: 60 }],
  ['green and not settled at the timeout', 'build: success', {}, 'timeout', { after: 60, settled: 1 }],
  ['red at the timeout', 'build: failure', {}, 'red: build', { after: 90 }],
  ['the host has not answered yet', null, {}, 'waiting'],
  ['the host never answers', null, {}, 'timeout', { after: 60, problem: 'GitHub answered with 502.' }],
  [
    'the host stopped answering after green',
    'build: success',
    {},
    'waiting',
    { problem: 'GitHub answered with 502.' },
  ],
  [
    'the host stopped answering after red',
    'build: failure',
    {},
    'red: build',
    { problem: 'GitHub answered with 502.' },
  ],
]

const judge = (terms: readonly Partial<ChecksTerms>[], observation: Observation, after = 2, settles = true) =>
  judgeChecks(
    terms.map((one) => wholeChecks(one)!),
    observation,
    { now: CHANGED + after * MINUTE, since: CHANGED, settles },
  )

const shown = ({ kind, check }: ReturnType<typeof judgeChecks>) => (check ? `${kind}: ${check.name}` : kind)

const observed = (checks: string | null, { settled = 60, problem }: More = {}): Observation => ({
  ...(checks === null
    ? NOT_ASKED
    : { checks: checksOf(checks), changedAt: CHANGED, answeredAt: CHANGED + settled * 1_000 }),
  problem: problem ?? null,
})

suite('a run that waits for checks', () => {
  for (const [scenario, checks, terms, verdict, more = {}] of ROWS)
    test(`${scenario}: ${verdict}`, () => {
      const judged = judge([terms], observed(checks, more), more.after, more.settles)
      assert.equal(shown(judged), verdict)
      assert.equal(judged.message === null, verdict === 'green')
    })
})

suite('several settings', () => {
  const checks = observed('build: success, lint: in_progress, e2e: failure')
  const cases: [Partial<ChecksTerms>[], string][] = [
    [[{ names: ['build'] }, { names: ['lint'] }], 'waiting: lint'],
    [[{ names: ['build'] }, { names: ['lint'] }, { names: ['e2e'] }], 'red: e2e'],
    [[{ names: ['lint'], timeout_minutes: 1 }, { names: ['lint'] }], 'timeout: lint'],
    [[{ names: ['build'] }, { names: ['build'], settle_seconds: 600 }], 'waiting'],
    [[{ names: ['build'] }, { names: ['bu*'] }], 'green'],
  ]
  for (const [terms, verdict] of cases)
    test(`${JSON.stringify(terms)}: ${verdict}`, () => assert.equal(shown(judge(terms, checks)), verdict))
})

test('a verdict says when a green one lets the run pass', () => {
  const { settlesAt, message } = judge([{}], observed('build: success', { settled: 5 }))
  assert.equal(settlesAt, CHANGED + 30_000)
  assert.equal(message, 'Every check is green; waiting until nothing has changed for 30 s.')
  assert.equal(judge([{}], observed('build: queued')).message, 'Waiting for build (queued).')
  assert.equal(judge([{}], observed('build: queued'), 60).message, 'build was still queued after 60 minutes.')
})

test('names without a wildcard that are missing are listed, also those with escaped characters', () => {
  const terms = [wholeChecks({ names: ['build', 'what\\?', 'x*', 'lint'] })!]
  assert.deepEqual(missingNames(terms, observed('lint: success, what?: success')), ['build'])
})

test('an answer is the same whatever its order, links and times are', () => {
  const [one, other] = [checksOf('a: success, b: queued'), checksOf('a: success, b: queued').reverse()]
  assert.ok(
    isSameAnswer(
      one,
      other.map((check) => ({ ...check, link: 'https://ci.example.com' })),
    ),
  )
  assert.ok(!isSameAnswer(one, checksOf('a: success, b: success')))
  assert.ok(!isSameAnswer(one, checksOf('a: success, b: queued, c: queued')))
})

suite('a setting is looser', () => {
  const cases: [Partial<ChecksTerms> | null, Partial<ChecksTerms> | null, boolean][] = [
    [null, {}, false],
    [null, null, false],
    [{}, null, true],
    [{}, {}, false],
    [{}, { timeout_minutes: 5 }, false],
    [{}, { timeout_minutes: 500 }, false],
    [{}, { settle_seconds: 60 }, false],
    [{}, { settle_seconds: 29 }, true],
    [{}, { without_checks: 'proceed' }, true],
    [{ without_checks: 'proceed' }, {}, false],
    [{}, { ignore: ['x'] }, true],
    [{ ignore: ['x'] }, {}, false],
    [{ ignore: ['x'] }, { ignore: ['y'] }, true],
    [{}, { names: ['build'] }, true],
    [{ names: ['build'] }, {}, true],
    [{ names: ['b*'] }, {}, false],
    [{ names: ['build'] }, { names: ['build', 'lint'] }, false],
    [{ names: ['build', 'lint'] }, { names: ['lint'] }, true],
  ]
  for (const [before, after, isSo] of cases)
    test(`${JSON.stringify(before)} → ${JSON.stringify(after)}: ${isSo}`, () =>
      assert.equal(isLooser(wholeChecks(before), wholeChecks(after)), isSo))
})
