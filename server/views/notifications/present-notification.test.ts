import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type DeliveryRow, presentNotification } from './present-notification.ts'

const DUE = '2026-11-16T14:00:00.000Z'
const row = (state: DeliveryRow['state'], more: Partial<DeliveryRow> = {}): DeliveryRow => ({
  state,
  attempts: 1,
  due_at: DUE,
  is_in_progress: false,
  last_request_id: null,
  error: null,
  response_status_code: null,
  ...more,
})
const NO_PAUSE = { paused_until: null, paused_reason: null }
const states = (...rows: DeliveryRow[]) => presentNotification(rows, NO_PAUSE)?.state

suite('the notifications of a hook about an action', () => {
  test('are what the last delivery is, unless one is pending', () => {
    assert.equal(states(row('delivered'), row('delivered')), 'delivered')
    assert.equal(states(row('failed'), row('delivered')), 'delivered')
    assert.equal(states(row('delivered'), row('failed')), 'failed')
    assert.equal(states(row('missed')), 'failed')
    assert.equal(states(row('delivered'), row('superseded'), row('ignored')), 'superseded')
    assert.equal(states(row('pending'), row('pending')), 'retrying')
    assert.equal(states(row('ignored')), undefined)
  })

  test('are paused while nothing may be sent, and due when that ends', () => {
    const pause = { paused_until: '2026-11-16T14:05:00.000Z', paused_reason: 'rate limit' }
    const shown = presentNotification([row('pending')], pause)
    assert.deepEqual(
      [shown?.state, shown?.paused_until, shown?.paused_reason, shown?.next_attempt_at],
      ['paused', pause.paused_until, pause.paused_reason, pause.paused_until],
    )
    assert.equal(presentNotification([row('pending', { is_in_progress: true })], pause)?.state, 'retrying')
    const done = presentNotification([row('delivered')], pause)
    assert.deepEqual([done?.state, done?.paused_until, done?.next_attempt_at], ['delivered', null, null])
  })

  test('say why they failed, and name the newest request', () => {
    const failed = row('failed', { response_status_code: 403, last_request_id: 'b' })
    assert.equal(presentNotification([failed], NO_PAUSE)?.last_error, 'The receiver returned 403.')
    const retried = row('pending', { error: 'No response after 5 s.', last_request_id: 'c' })
    const shown = presentNotification([row('delivered', { last_request_id: 'a' }), retried], NO_PAUSE)
    assert.deepEqual([shown?.last_error, shown?.last_request_id], ['No response after 5 s.', 'c'])
    const again = row('pending', { attempts: 0, error: 'No response after 5 s.' })
    assert.equal(presentNotification([again], NO_PAUSE)?.last_error, null)
    assert.match(presentNotification([row('missed')], NO_PAUSE)!.last_error!, /disabled/)
  })
})
