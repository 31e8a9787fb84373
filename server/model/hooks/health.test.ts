import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type HealthRow, healthOf } from './health.ts'

const NOW = '2026-11-15T08:00:00.000Z'
const EARLIER = '2026-11-15T07:00:00.000Z'
const SOON = '2026-11-15T08:00:05.000Z'
const LATER = '2026-11-15T09:00:00.000Z'
const ON = { active: true, disabled_at: null }

const stored = (more: Partial<HealthRow> = {}): HealthRow => ({
  failures_in_a_row: 3,
  failed_deliveries: 0,
  failing_since: EARLIER,
  open_until: null,
  due_at: SOON,
  last: { error: null, status: 500 },
  now: NOW,
  ...more,
})
const nothing = { failures_in_a_row: 0, failing_since: null, next_attempt_at: null, last_error: null }

suite('the health of a hook', () => {
  test('is active as long as nothing is stored about failures', () => {
    assert.deepEqual(healthOf(ON, undefined), { state: 'active', ...nothing })
    const recovered = stored({ failures_in_a_row: 0, failing_since: null })
    assert.deepEqual(healthOf(ON, recovered), { state: 'active', ...nothing })
  })

  test('is failing from the first failed attempt on', () => {
    assert.deepEqual(healthOf(ON, stored()), {
      state: 'failing',
      failures_in_a_row: 3,
      failing_since: EARLIER,
      next_attempt_at: SOON,
      last_error: 'The receiver returned 500.',
    })
  })

  test('counts failures that do not open the breaker, too', () => {
    const countOf = (more: Partial<HealthRow>) => healthOf(ON, stored(more)).failures_in_a_row
    assert.equal(countOf({ failures_in_a_row: 0 }), 1)
    assert.equal(countOf({ failures_in_a_row: 0, failed_deliveries: 4 }), 4)
    assert.equal(countOf({ failures_in_a_row: 7, failed_deliveries: 4 }), 7)
  })

  test('is paused while nothing may be sent, and the next attempt comes after the pause', () => {
    const paused = healthOf(ON, stored({ open_until: LATER }))
    assert.deepEqual([paused.state, paused.next_attempt_at], ['paused', LATER])
    const soon = healthOf(ON, stored({ open_until: SOON, due_at: LATER }))
    assert.deepEqual([soon.state, soon.next_attempt_at], ['paused', LATER])
    const over = healthOf(ON, stored({ open_until: EARLIER }))
    assert.deepEqual([over.state, over.next_attempt_at], ['failing', SOON])
  })

  test('has no next attempt when nothing is to be sent', () => {
    for (const open_until of [null, LATER])
      assert.equal(healthOf(ON, stored({ due_at: null, open_until })).next_attempt_at, null)
  })

  test('says why the last attempt failed, as far as that is known', () => {
    const errorOf = (last: HealthRow['last']) => healthOf(ON, stored({ last })).last_error
    assert.equal(errorOf({ error: 'connect ECONNREFUSED', status: null }), 'connect ECONNREFUSED')
    assert.equal(errorOf({ error: null, status: 301 }), 'The receiver returned 301.')
    assert.equal(errorOf({ error: null, status: null }), null)
    assert.equal(errorOf(null), null)
  })

  test('tells who disabled it, and only says why Gantry did', () => {
    const row = stored({ open_until: LATER })
    const last_error = 'The receiver returned 500.'
    const byGantry = { active: false, disabled_at: EARLIER }
    assert.deepEqual(healthOf(byGantry, row), { ...nothing, state: 'disabled', last_error })
    assert.deepEqual(healthOf(byGantry, undefined), { ...nothing, state: 'disabled' })
    const byPerson = { active: false, disabled_at: null }
    assert.deepEqual(healthOf(byPerson, row), { ...nothing, state: 'inactive' })
  })
})
