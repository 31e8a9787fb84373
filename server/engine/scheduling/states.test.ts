import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canMove, isEnd, type State } from '#model/actions/status.ts'
import type { ReasonCode, StoredStep } from '#platform/database/tables.ts'
import { actionState, endOfTarget, endSteps, readyTargets, skippedTargets } from './states.ts'

type Target = State & { id: number; batch: number }

const AT = '2026-11-15T06:00:00.000Z'
const PENDING: State = { status: 'pending', reason: 'PENDING' }
const WAITING: State = { status: 'waiting', reason: 'WAITING_CONCURRENCY_TARGET' }
const QUEUED: State = { status: 'queued', reason: 'QUEUED' }
const RUNNING: State = { status: 'in-progress', reason: 'IN_PROGRESS' }
const COMPLETED: State = { status: 'completed', reason: 'COMPLETED' }
const FAILED: State = { status: 'failed', reason: 'FAILED' }
const TIMED_OUT: State = { status: 'failed', reason: 'FAILED_TIMEOUT' }
const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }
const SKIPPED: State = { status: 'skipped', reason: 'SKIPPED' }
const BETWEEN: State = { status: 'in-progress', reason: 'PENDING' }

/** One target per state, each in its own batch by default. */
const targetsOf = (states: State[], batches = states.map((_, index) => index + 1)): Target[] =>
  states.map((state, index) => ({ ...state, id: index + 1, batch: batches[index]! }))
const idsOf = (targets: Target[]) => targets.map(({ id }) => id)
const stateOf = (...states: State[]) => actionState(targetsOf(states))

test('an action is in progress while one of its targets is', () => {
  assert.deepEqual(stateOf(RUNNING), RUNNING)
  assert.deepEqual(stateOf(COMPLETED, FAILED, RUNNING, QUEUED, PENDING), RUNNING)
})

test('an action that has started, and none of whose targets runs, is in progress but pending', () => {
  assert.deepEqual(stateOf(COMPLETED, PENDING), BETWEEN)
  assert.deepEqual(stateOf(COMPLETED, QUEUED), BETWEEN)
  assert.deepEqual(stateOf(FAILED, WAITING), BETWEEN)
})

test('an action that has not started is queued as soon as one target is, and waits for its servers before', () => {
  assert.deepEqual(stateOf(WAITING, QUEUED, PENDING), QUEUED)
  assert.deepEqual(stateOf(WAITING, PENDING), WAITING)
})

test('an action has completed when all its targets have', () => {
  assert.deepEqual(stateOf(COMPLETED, COMPLETED), COMPLETED)
})

test('an action fails for the reason of its worst target, whatever their order, once all are over', () => {
  const failed = (reason: ReasonCode): State => ({ status: 'failed', reason })
  const worstFirst = [
    ...(['FAILED_REVERT', 'FAILED_UNHEALTHY', 'FAILED_WORKER_LOST', 'FAILED_UNREACHABLE'] as const),
    ...(['FAILED_TIMEOUT', 'FAILED_SOURCE', 'FAILED', 'FAILED_CANCELLED', 'FAILED_REVERTED'] as const),
  ].map(failed)
  for (const [index, worst] of worstFirst.entries())
    for (const other of worstFirst.slice(index)) {
      assert.deepEqual(stateOf(COMPLETED, worst, other, SKIPPED), worst)
      assert.deepEqual(stateOf(SKIPPED, other, worst, COMPLETED), worst)
    }
  const newer = failed('FAILED_MOON' as ReasonCode)
  assert.deepEqual(stateOf(FAILED, newer), newer, 'a reason that only a newer release knows')
  assert.deepEqual(stateOf(newer, TIMED_OUT), TIMED_OUT)
  assert.deepEqual(stateOf(TIMED_OUT, RUNNING), RUNNING)
})

test('an action none of whose targets ran is skipped', () => {
  assert.deepEqual(stateOf(SKIPPED, SKIPPED), SKIPPED)
})

test('the targets of a batch are ready when the batches before it are over', () => {
  const batches = [1, 1, 2, 2, 3]
  const open = (...states: State[]) => idsOf(readyTargets(targetsOf(states, batches)))
  assert.deepEqual(open(PENDING, PENDING, PENDING, PENDING, PENDING), [1, 2])
  assert.deepEqual(open(COMPLETED, RUNNING, PENDING, PENDING, PENDING), [])
  assert.deepEqual(open(COMPLETED, FAILED, PENDING, PENDING, PENDING), [3, 4])
  assert.deepEqual(open(COMPLETED, COMPLETED, WAITING, PENDING, PENDING), [4])
  assert.deepEqual(open(COMPLETED, COMPLETED, SKIPPED, COMPLETED, PENDING), [5])
  assert.deepEqual(open(COMPLETED, COMPLETED, COMPLETED, COMPLETED, COMPLETED), [])
})

test('later batches are skipped when more targets have failed than allowed', () => {
  const batches = [1, 1, 2, 3]
  const leftOut = (maxFailed: number, ...states: State[]) =>
    idsOf(skippedTargets(targetsOf(states, batches), maxFailed))
  assert.deepEqual(leftOut(0, COMPLETED, COMPLETED, PENDING, PENDING), [])
  assert.deepEqual(leftOut(0, FAILED, RUNNING, PENDING, PENDING), [3, 4])
  assert.deepEqual(leftOut(1, FAILED, RUNNING, PENDING, PENDING), [])
  assert.deepEqual(leftOut(1, FAILED, TIMED_OUT, PENDING, PENDING), [3, 4])
  assert.deepEqual(leftOut(1, FAILED, COMPLETED, FAILED, PENDING), [4])
})

test('whatever fails, a rollout proceeds batch by batch, stops after one failure too many, and ends', () => {
  const rollout = fc.record({
    perBatch: fc.integer({ min: 1, max: 4 }),
    maxFailed: fc.integer({ min: 0, max: 4 }),
    outcomes: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
    /** Which of the targets that can move next does. */
    turns: fc.infiniteStream(fc.nat()),
  })
  fc.assert(
    fc.property(rollout, ({ perBatch, maxFailed, outcomes, turns }) => {
      const targets = targetsOf(
        outcomes.map(() => PENDING),
        outcomes.map((_, index) => Math.floor(index / perBatch) + 1),
      )
      let state = QUEUED
      for (;;) {
        for (const target of skippedTargets(targets, maxFailed)) Object.assign(target, SKIPPED)
        for (const target of readyTargets(targets)) Object.assign(target, QUEUED)
        const next = actionState(targets)
        assert.ok(next.status === state.status || canMove(state.status, next.status))
        state = next
        const movable = targets.filter(({ status }) => status === 'queued' || status === 'in-progress')
        if (movable.length === 0) break
        assert.equal(new Set(movable.map(({ batch }) => batch)).size, 1)
        const target = movable[turns.next().value! % movable.length]!
        const end = outcomes[target.id - 1] ? COMPLETED : FAILED
        Object.assign(target, target.status === 'queued' ? RUNNING : end)
      }
      assert.ok(isEnd(state.status))
      assert.ok(targets.every(({ status }) => isEnd(status)))
      const ran = targets.filter(({ status }) => status !== 'skipped')
      const failures = (among: Target[]) => among.filter(({ status }) => status === 'failed').length
      const lastBatch = Math.max(...ran.map(({ batch }) => batch))
      assert.ok(failures(ran.filter(({ batch }) => batch < lastBatch)) <= maxFailed)
      if (ran.length < targets.length) assert.ok(failures(ran) > maxFailed)
    }),
  )
})

const stepOf = (order: number, state: State): StoredStep => ({
  order,
  step_id: order,
  name: `step-${order}`,
  description: null,
  ...state,
  started_at: state.status === 'pending' ? null : AT,
  completed_at: isEnd(state.status) ? AT : null,
})

test('when a target is ended from outside, its running step ends like it, pending ones are skipped, finished ones stay', () => {
  const later = '2026-11-15T06:01:00.000Z'
  const steps = [stepOf(1, COMPLETED), stepOf(2, RUNNING), stepOf(3, PENDING)]
  assert.deepEqual(endSteps(steps, CANCELLED, later), [
    steps[0],
    { ...steps[1], ...CANCELLED, completed_at: later, updated_at: later },
    { ...steps[2], ...SKIPPED, completed_at: later, updated_at: later },
  ])
})

test('a target ends like the first of its steps that failed, and has completed when none has', () => {
  const endOf = (...states: State[]) => endOfTarget(states.map((state, index) => stepOf(index + 1, state)))
  assert.deepEqual(endOf(COMPLETED, COMPLETED), COMPLETED)
  assert.deepEqual(endOf(COMPLETED, TIMED_OUT, SKIPPED), TIMED_OUT)
  assert.deepEqual(endOf(CANCELLED, FAILED), CANCELLED)
})

test('an action that waits says that a worker is missing as soon as one of its targets does', () => {
  const homeless: State = { status: 'waiting', reason: 'WAITING_WORKER' }
  const stateOf = (...states: State[]) => actionState(states.map((state) => ({ ...state, batch: 1 }))).reason
  assert.equal(stateOf(WAITING, homeless), 'WAITING_WORKER')
  assert.equal(stateOf(WAITING, WAITING), 'WAITING_CONCURRENCY_TARGET')
  assert.equal(stateOf(QUEUED, homeless), 'QUEUED')
})
