import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredStep } from '#platform/database/tables.ts'
import { type Failure, failedOnlyAtCleanup, judgeFailure, type StepMarks } from './revert-plan.ts'
import { endOfTarget } from './states.ts'

const NAMES = [
  ...['get-new-release', 'migrate', 'activate-new-release', 'restart', 'warm-up', 'check-health'],
  'remove-old-releases',
]
const CUSTOM = ['migrate', 'restart', 'warm-up']

const MARKS: StepMarks[] = NAMES.map((name, index) => ({
  id: index + 10,
  name,
  builtIn: !CUSTOM.includes(name),
  irreversible: false,
  runOnRevert: name === 'restart',
}))

/** All steps before the named one are completed, it has failed, and the rest is skipped. */
function failedAt(name: string): Pick<Failure, 'steps' | 'order'> {
  const at = NAMES.indexOf(name)
  const steps = NAMES.map((step, index): StoredStep => {
    const status = index < at ? 'completed' : index === at ? 'failed' : 'skipped'
    return { ...stepOf(index + 1, index + 10, step), status, reason: status.toUpperCase() as 'FAILED' }
  })
  return { steps, order: at + 1 }
}

function stepOf(order: number, step_id: number | null, name: string): StoredStep {
  const none = { description: null, started_at: null, completed_at: null }
  return { order, step_id, name, status: 'pending', reason: 'PENDING', ...none }
}

const BEFORE = { release: '20261101120000-0a1b2c3d', action_id: 1, commit_sha: null }

function judge(name: string, more: Partial<Failure> = {}) {
  const isAfterSwitch = NAMES.indexOf(name) > NAMES.indexOf('activate-new-release')
  return judgeFailure({
    onFailure: 'revert',
    marks: MARKS,
    doneElsewhere: [],
    liveBefore: isAfterSwitch ? BEFORE : null,
    isUnknown: false,
    revertsAll: false,
    ...failedAt(name),
    ...more,
  })
}

const marked = (name: string, mark: Partial<StepMarks>) =>
  MARKS.map((one) => (one.name === name ? { ...one, ...mark } : one))

test('a step that fails after activation: the switch, what runs again, the health check', () => {
  for (const name of ['restart', 'warm-up', 'check-health']) {
    const verdict = judge(name)
    assert.ok(verdict.kind === 'revert', name)
    assert.deepEqual(
      verdict.steps.map(({ order, step_id, name, status }) => [order, step_id, name, status]),
      [
        [8, null, 'revert-release', 'pending'],
        [9, 13, 'restart', 'pending'],
        [10, 15, 'check-health', 'pending'],
      ],
    )
  }
})

test('a failure before activation, or of the cleanup, reverts nothing, and neither does keep', () => {
  for (const name of ['get-new-release', 'migrate', 'activate-new-release', 'remove-old-releases'])
    assert.deepEqual(judge(name), { kind: 'keep', note: null }, name)
  assert.deepEqual(judge('warm-up', { onFailure: 'keep' }), { kind: 'keep', note: null })
})

test('an irreversible step forbids it once it has completed, on this server or another', () => {
  const note = 'Not reverted: irreversible step migrate completed.'
  assert.deepEqual(judge('restart', { marks: marked('migrate', { irreversible: true }) }), {
    kind: 'keep',
    note,
  })
  const later = marked('warm-up', { irreversible: true })
  assert.equal(judge('restart', { marks: later }).kind, 'revert')
  assert.equal(judge('warm-up', { marks: later }).kind, 'revert', 'it has not completed')
  assert.equal(judge('restart', { marks: later, doneElsewhere: [14] }).kind, 'keep')
})

test('without a release to go back to, a line says so', () => {
  const none = { release: null, action_id: null, commit_sha: null }
  const first = judge('restart', { liveBefore: none })
  assert.match(
    first.kind === 'keep' ? first.note! : '',
    /^Not reverted: nothing was live on this server before this run/,
  )
  const unknown = judge('restart', { liveBefore: null })
  assert.match(unknown.kind === 'keep' ? unknown.note! : '', /is unknown\.$/)
})

test('a switch that failed after it had happened is reverted like any later failure', () => {
  assert.equal(judge('activate-new-release', { liveBefore: BEFORE }).kind, 'revert')
})

test('a switch that may have happened is reverted only where all servers revert together', () => {
  const unknown = { isUnknown: true, liveBefore: null }
  const alone = judge('activate-new-release', unknown)
  assert.match(
    alone.kind === 'keep' ? alone.note! : '',
    /^Not reverted: it is unknown whether .* Gantry keeps checking\.$/,
  )
  const together = judge('activate-new-release', { ...unknown, revertsAll: true })
  assert.equal(together.kind === 'revert' && together.steps[0]?.name, 'revert-release')
  const migrated = { ...unknown, revertsAll: true, marks: marked('migrate', { irreversible: true }) }
  assert.equal(judge('activate-new-release', migrated).kind, 'keep')
})

test('a target that goes back does so once', () => {
  const { steps, order } = failedAt('restart')
  const back = [...steps, { ...stepOf(8, null, 'revert-release'), status: 'failed' as const }]
  assert.deepEqual(judge('restart', { steps: back, order: 8 }), { kind: 'keep', note: null })
  assert.equal(order, 4)
})

test('how a target ends that went back', () => {
  const { steps } = failedAt('check-health')
  const end = (...reasons: string[]) =>
    endOfTarget([
      ...steps,
      ...reasons.map((reason, index) => ({
        ...stepOf(8 + index, index === 0 ? null : 13, 'x'),
        status: reason.split('_')[0]!.toLowerCase() as 'failed',
        reason: reason as 'FAILED',
      })),
    ]).reason
  assert.equal(end('COMPLETED', 'COMPLETED'), 'FAILED_REVERTED')
  assert.equal(end('COMPLETED', 'FAILED_UNHEALTHY'), 'FAILED_REVERT')
  assert.equal(end('FAILED', 'SKIPPED'), 'FAILED_REVERT')
  assert.equal(end('FAILED_UNREACHABLE', 'SKIPPED'), 'FAILED_REVERT')
  assert.equal(end('COMPLETED', 'FAILED_CANCELLED'), 'FAILED_CANCELLED')
})

test('a target that failed at the cleanup alone is no reason for others to go back', () => {
  assert.equal(failedOnlyAtCleanup(failedAt('remove-old-releases').steps, MARKS), true)
  for (const name of ['get-new-release', 'check-health'])
    assert.equal(failedOnlyAtCleanup(failedAt(name).steps, MARKS), false, name)
  const { steps } = failedAt('remove-old-releases')
  assert.equal(failedOnlyAtCleanup([...steps, stepOf(8, null, 'revert-release')], MARKS), false)
  // Of a target that went back although nothing of it failed, and of one that could not begin.
  const none = steps.map((step): StoredStep => ({ ...step, status: 'completed' }))
  assert.equal(failedOnlyAtCleanup(none, MARKS), false)
})
