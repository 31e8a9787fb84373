// The table of scenarios in docs/guides/gates.md with real runs: each has a commit and a pipeline, all of them wait side by side.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ASKING, FAILED, openChecks, QUEUED } from '#test/support/checks.ts'
import { BUILT_IN, createPipeline } from '#test/support/inventory.ts'
import { started } from '#test/support/runs.ts'
import type { Github } from '#test/support/services/github.ts'
import { type GithubCheckRun, stateOf as reported } from '#test/support/services/github-checks.ts'

const STARTS = QUEUED
const ENDS = FAILED
const WAITS = ASKING

/** What the gate says is asserted as well, where it is about a check. */
type Row = [scenario: string, shown: string, terms: object, outcome: string, names?: string, then?: string]

/**
 * `build: success` is a check of an app, `build@7: success` one of GitHub Actions in its suite `[7]: completed`, `ci/test! error` a
 * status. `then`: what all checks report after the first answer.
 */
const ROWS: Row[] = [
  ['every check green, neutral or skipped', 'a: success, b: neutral, c: skipped', {}, STARTS],
  ['a status that is green', 'ci/test! success', {}, STARTS],
  ['green, but not for long enough', 'a: success', { settle_seconds: 3_600 }, WAITS],
  ['green just now', 'a: success', { settle_seconds: 0 }, STARTS],
  ['one queued', 'a: success, build: queued', {}, WAITS, 'build'],
  ['one running', 'build: in_progress', {}, WAITS, 'build'],
  ['one pending', 'ci/test! pending', {}, WAITS, 'ci/test'],
  ['one that waits for a person', 'deploy: action_required', {}, WAITS, 'deploy'],
  ['a state that Gantry does not know', 'x: moonstruck', {}, WAITS, 'x'],
  ['one red, others running', 'a: in_progress, b: failure', {}, ENDS, 'b'],
  ['red after it was green', 'build: success', {}, ENDS, 'build', 'failure'],
  ['red after it ran', 'build: in_progress', {}, ENDS, 'build', 'failure'],
  ['green after it ran', 'build: in_progress', {}, STARTS, undefined, 'success'],
  ['running again after it was green', 'build: success', {}, WAITS, 'build', 'in_progress'],
  ['one canceled', 'build: cancelled', {}, ENDS, 'build'],
  ['one timed out', 'build: timed_out', {}, ENDS, 'build'],
  ['one stale', 'build: stale', {}, ENDS, 'build'],
  ['a status that is an error', 'ci/test! error', {}, ENDS, 'ci/test'],
  ['a workflow with a mistake', '[7]: startup_failure', {}, ENDS, 'GitHub Actions'],
  ['two of one name, one red', 'test: success, test: failure', {}, ENDS, 'test'],
  ['two of one name, one running', 'test: success, test: in_progress', {}, WAITS, 'test'],
  ['jobs that may be followed by others', 'a@7: success, [7]: in_progress', {}, WAITS, 'GitHub Actions'],
  ['a suite that is completed', 'a@7: success, [7]: success', {}, STARTS],
  ['a suite that is queued, without a job', 'a: success, [7]: queued', {}, WAITS, 'GitHub Actions'],
  ['an empty suite of another app', 'a: success, [codecov]: queued', {}, STARTS],
  ['a suite of ignored checks', 'a: success, e2e@7: queued, [7]: queued', { ignore: ['e2e'] }, STARTS],
  ['a named check, its suite running', 'build@7: success, [7]: in_progress', { names: ['build'] }, STARTS],
  ['a match, its suite running', 'b@7: success, [7]: queued', { names: ['b*'] }, WAITS, 'GitHub Actions'],
  ['a named check green, others red', 'build: success, lint: failure', { names: ['build'] }, STARTS],
  ['a named check red', 'build: failure, lint: success', { names: ['build'] }, ENDS, 'build'],
  ['a named check not there yet', 'lint: success', { names: ['build'] }, WAITS, 'build'],
  ['one of two named checks missing', 'build: success', { names: ['build', 'lint'] }, WAITS, 'lint'],
  ['nothing that a wildcard matches', 'lint: success', { names: ['test*'] }, WAITS],
  ['a star before a slash', 'ci/a/b: success', { names: ['ci/*'] }, WAITS],
  ['two stars', 'ci/a/b: success', { names: ['ci/**'] }, STARTS],
  ['an ignored check red', 'build: success, flaky: failure', { ignore: ['flaky'] }, STARTS],
  ['an ignored check running', 'build: success, n/1: queued', { ignore: ['n/*'] }, STARTS],
  ['named and ignored', 'build: success', { names: ['build'], ignore: ['build'] }, WAITS, 'build'],
  ['no checks', '', {}, WAITS],
  ['no checks, proceed', '', { without_checks: 'proceed' }, STARTS],
  ['only ignored, proceed', 'x: failure', { ignore: ['x'], without_checks: 'proceed' }, STARTS],
  ['no checks, one named', '', { names: ['build'], without_checks: 'proceed' }, WAITS, 'build'],
  ["only Gantry's own status", 'gantry/production/Deploy! failure', {}, WAITS],
  ['only checks of another repository', 'acme/other#build: failure', {}, WAITS],
]

const { db, openTree, run, schedule, look, later, stateOf, gateOf, waitFor } = await openChecks({ after })

suite('with real runs', () => {
  let made: { row: Row; id: number; checks: GithubCheckRun[]; found: string; message: string }[] = []
  let at: Awaited<ReturnType<typeof openTree>>['at']

  before(async () => {
    const tree = await openTree('github', null)
    at = tree.at
    const { host, repository } = tree
    made = []
    for (const row of ROWS) {
      const [scenario, shown, terms] = row
      const sha = await repository.commit({ n: scenario })
      const pipelineId = await createPipeline(
        db,
        { createdBy: at.owner.id, environmentId: at.environmentId },
        BUILT_IN,
        {
          ...{ resource_type: 'application', application_id: at.applicationId, operation: 'deploy' },
          ...{ name: scenario, max_parallel_actions: 0 },
        },
      )
      assert.equal((await waitFor({ ...at, pipelineId }, terms)).status, 200, scenario)
      const body = { source_type: 'commit', source_ref: sha }
      const { id } = await started(run(body, { at: { ...at, pipelineId } }))
      made.push({ row, id, checks: show(host, sha, shown), found: '', message: '' })
    }
    await schedule(made.map(({ id }) => id))
    await look()
    for (const { row, checks } of made)
      for (const check of row[5] ? checks : []) Object.assign(check, reported(row[5]!))
    for (const seconds of [16, 31]) {
      await later(seconds)
      await look()
    }
    for (const one of made) {
      one.found = await stateOf(one.id)
      one.message = (await gateOf(at, one.id)).details.message ?? ''
    }
    // The timeout of everything that still waits; its host is asked once more first.
    await later(3_600)
    await look()
    await look()
  })

  for (const [index, [scenario, , , outcome, names = '']] of ROWS.entries())
    test(`${scenario}: ${outcome}`, () => {
      const { found, message } = made[index]!
      assert.equal(found, outcome, message)
      assert.ok(message.includes(names), message)
    })

  test('what still waits at the timeout ends, and what it waited for is named', async () => {
    const waiting = made.filter(
      ({ row: [, , terms, outcome] }) => outcome === WAITS && !('settle_seconds' in terms),
    )
    assert.ok(waiting.length > 15)
    for (const { row, id } of waiting) {
      const { state, details } = await gateOf(at, id)
      assert.deepEqual([await stateOf(id), state], [ENDS, 'failed'], row[0])
      assert.match(details.message, / after 60 minutes\.$/)
      assert.ok(details.message.includes(row[4] ?? ''), details.message)
    }
  })
})

/** Shows at the host what a row says about a commit. */
function show(host: Github, sha: string, shown: string): GithubCheckRun[] {
  const parts = shown.split(', ').filter(Boolean)
  const suites = new Map<string, ReturnType<typeof host.checks.addSuite>>()
  for (const part of parts) {
    const [, id, state] = /^\[(.+)\]: (.+)$/.exec(part) ?? []
    const app = id === '7' ? 'github-actions' : id!
    if (id) suites.set(id, host.checks.addSuite({ repository: 'acme/shop', sha, app, ...reported(state!) }))
  }
  return parts.flatMap((part) => {
    const [, context, status] = /^(.+)! (.+)$/.exec(part) ?? []
    if (context) host.set({ repository: 'acme/shop', sha, context, state: status! })
    const [, repository = 'acme/shop', name, id, state] =
      /^(?:(.+)#)?([^[@!]+?)(?:@(.+))?: (.+)$/.exec(part) ?? []
    if (!name) return []
    const ofApp = () => host.checks.addSuite({ repository, sha, app: 'ci', ...reported('success') })
    return host.checks.addRun(suites.get(id ?? '') ?? ofApp(), name, state!)
  })
}
