import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatClock } from '#web/base/ui/format.ts'
import { refetchInterval, remoteText, requestsSummary, waitingText } from '#web/pages/action/notifications.ts'
import type { Delivery } from '#web/pages/hooks/outgoing/deliveries.ts'

const AT = new Date().toISOString()
const NOTIFICATION = {
  preset: 'github_status',
  receiver: 'api.github.com',
  remote_state: 'matches' as const,
  remote_status: 'success',
  remote_detail: null,
  checked_at: AT,
  repairs: 0,
}

describe('notifications of a run', () => {
  it('say what the service shows, and when it was asked', () => {
    const text = (more: object) => remoteText({ ...NOTIFICATION, ...more })
    const checked = `checked ${formatClock(AT)}`
    assert.equal(text({}), `GitHub shows success, ${checked}`)
    assert.equal(
      text({ remote_state: 'repaired', repairs: 1 }),
      `GitHub shows success after it was sent again, ${checked}`,
    )
    const detail = 'GitHub shows a status that is not ours.'
    assert.equal(
      text({ remote_state: 'overridden', remote_detail: detail }),
      `${detail} Left alone, ${checked}`,
    )
    assert.equal(
      text({ remote_state: 'unknown', remote_status: null, remote_detail: 'GitHub returned 502.' }),
      `Could not read the status from GitHub, ${checked}: GitHub returned 502.`,
    )
    assert.equal(text({ remote_state: 'not_checked', checked_at: null }), 'Not checked yet')
    assert.equal(text({ preset: null }), undefined)
    assert.equal(text({ preset: 'slack_message' }), undefined)
  })

  it('say what they wait for', () => {
    const paused = { receiver: 'api.github.com', paused_until: AT, paused_reason: 'A rate limit' }
    assert.equal(waitingText(paused), `Waiting for api.github.com until ${formatClock(AT)} (rate limit)`)
    assert.equal(waitingText({ ...paused, paused_until: null }), undefined)
  })

  it('are counted by state, as many as there are rows', () => {
    const states = ['failed', 'delivered', 'delivered', 'retrying'] as const
    const deliveries = states.map((state) => ({ state }) as Delivery)
    assert.equal(requestsSummary(deliveries, false), '2 delivered, 1 retrying, 1 failed')
    assert.equal(requestsSummary(deliveries, true), '2 delivered, 1 retrying, 1 failed, 1 received')
    assert.equal(requestsSummary([], true), '1 received')
    assert.equal(requestsSummary([], false), 'No notifications yet')
  })

  it('are asked for as long as they change by themselves', () => {
    const now = Date.parse('2026-11-16T14:00:00Z')
    const ended = (minutes: number) => new Date(now - minutes * 60_000).toISOString()
    const status = [{ preset: 'github_status', state: 'delivered' as const }]
    const other = [{ preset: null, state: 'delivered' as const }]
    assert.equal(refetchInterval(other, null, now), 4_000)
    assert.equal(refetchInterval(other, ended(1), now), false)
    assert.equal(refetchInterval(status, ended(1), now), 20_000)
    assert.equal(refetchInterval(status, ended(20), now), false)
    assert.equal(refetchInterval([{ preset: null, state: 'paused' }], ended(20), now), 4_000)
  })
})
