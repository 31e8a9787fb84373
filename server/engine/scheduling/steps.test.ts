import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isEnd, type State } from '#model/actions/status.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import { completeStep, endSteps, startAt } from './states.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 15, 6, minute)).toISOString()
const COMPLETED: State = { status: 'completed', reason: 'COMPLETED' }
const FAILED: State = { status: 'failed', reason: 'FAILED' }

const notStarted = (count: number): StoredStep[] =>
  Array.from({ length: count }, (_, index) => ({
    order: index + 1,
    step_id: index + 10,
    name: `step-${index + 1}`,
    description: null,
    status: 'pending',
    reason: 'PENDING',
    started_at: null,
    completed_at: null,
  }))

/** Status, begin and end of each, in minutes. */
const summary = (steps: readonly StoredStep[]) =>
  steps.map(({ status, reason, started_at, completed_at }) => {
    const minute = (time: string | null) => (time === null ? '-' : new Date(time).getUTCMinutes())
    return `${status} ${reason} ${minute(started_at)} ${minute(completed_at)}`
  })

test('the steps of a target run one after the other', () => {
  const started = startAt(notStarted(3), 1, at(1))
  assert.deepEqual(summary(started), [
    'in-progress IN_PROGRESS 1 -',
    'pending PENDING - -',
    'pending PENDING - -',
  ])
  const further = completeStep(started, 1, at(2))
  assert.deepEqual(summary(further), [
    'completed COMPLETED 1 2',
    'in-progress IN_PROGRESS 2 -',
    'pending PENDING - -',
  ])
})

test('a step that fails ends the target: what was done stays, the rest is skipped', () => {
  const steps = completeStep(startAt(notStarted(3), 1, at(1)), 1, at(2))
  assert.deepEqual(summary(endSteps(steps, FAILED, at(3), 2)), [
    'completed COMPLETED 1 2',
    'failed FAILED 2 3',
    'skipped SKIPPED - 3',
  ])
})

test('the last step completes the target', () => {
  const steps = completeStep(startAt(notStarted(2), 1, at(1)), 1, at(2))
  assert.deepEqual(summary(endSteps(steps, COMPLETED, at(3), 2)), [
    'completed COMPLETED 1 2',
    'completed COMPLETED 2 3',
  ])
})

test('restarting at a step resets it and those after it', () => {
  const steps = completeStep(completeStep(startAt(notStarted(4), 1, at(1)), 1, at(2)), 2, at(3))
  assert.deepEqual(summary(startAt(steps, 2, at(4))), [
    'completed COMPLETED 1 2',
    'in-progress IN_PROGRESS 4 -',
    'pending PENDING - -',
    'pending PENDING - -',
  ])
})

test('a change updates the time of what it changes, and nothing that was over before', () => {
  const steps = completeStep(startAt(notStarted(3), 1, at(1)), 1, at(2))
  const ended = endSteps(steps, FAILED, at(3), 2)
  assert.equal(ended[0], steps[0])
  assert.deepEqual(
    ended.map(({ updated_at }) => updated_at),
    [at(2), at(3), at(3)],
  )
})

test('however often a target restarts, at most one step runs, with completed ones before and pending ones after', () => {
  const moves = fc.array(fc.oneof(fc.constant('go-on' as const), fc.nat()), { maxLength: 12 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), moves, fc.boolean(), (count, list, isFine) => {
      let minute = 1
      let order = 1
      let steps = startAt(notStarted(count), 1, at(minute))
      for (const move of list) {
        minute += 1
        if (move !== 'go-on') {
          order = (move % order) + 1
          steps = startAt(steps, order, at(minute))
        } else if (order < count) {
          steps = completeStep(steps, order, at(minute))
          order += 1
        }
        const statuses = steps.map(({ status }) => status)
        assert.deepEqual(statuses, [
          ...Array<string>(order - 1).fill('completed'),
          'in-progress',
          ...Array<string>(count - order).fill('pending'),
        ])
        for (const { status, started_at, completed_at } of steps) {
          assert.equal(started_at !== null, status !== 'pending')
          assert.equal(completed_at !== null, isEnd(status))
        }
      }
      const ended = endSteps(steps, isFine && order === count ? COMPLETED : FAILED, at(minute + 1), order)
      assert.ok(ended.every(({ status, completed_at }) => isEnd(status) && completed_at !== null))
    }),
  )
})

test('a target that is handed over has no running step: the next one starts elsewhere', () => {
  const steps = completeStep(startAt(notStarted(3), 1, at(1)), 1, at(2), { handsOver: true })
  assert.deepEqual(summary(steps), ['completed COMPLETED 1 2', 'pending PENDING - -', 'pending PENDING - -'])
  assert.deepEqual(summary(startAt(steps, 2, at(3))), [
    'completed COMPLETED 1 2',
    'in-progress IN_PROGRESS 3 -',
    'pending PENDING - -',
  ])
})
