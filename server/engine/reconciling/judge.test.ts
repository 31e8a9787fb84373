import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { nextCheck } from './check-schedule.ts'
import { judge } from './judge.ts'
import type { RemoteStatus } from './read-remote.ts'

const page = (id: number | string, origin = 'https://gantry.example') => `${origin}/app/actions/${id}`
const MISSING: RemoteStatus = { kind: 'missing' }
const found = (state: string, link: string | null = page(7)): RemoteStatus => ({ kind: 'found', state, link })
const verdict = (remote: RemoteStatus, more: { newerActionId?: number; repairs?: number } = {}) =>
  judge(
    { sent: { state: 'success', link: page(7) }, actionId: 7, newerActionId: null, repairs: 0, ...more },
    remote,
    'GitHub',
  )

suite('a status that was read back', () => {
  test('matches when it is what was sent', () => {
    assert.equal(verdict(found('success')).kind, 'matches')
    assert.equal(verdict(found('success'), { repairs: 2 }).kind, 'matches')
  })

  test('is sent again when it is missing, was changed, or is that of an older run: twice at most', () => {
    for (const remote of [MISSING, found('pending'), found('success', page(6))]) {
      assert.equal(verdict(remote).kind, 'repair')
      assert.equal(verdict(remote, { repairs: 1 }).kind, 'repair')
      assert.notEqual(verdict(remote, { repairs: 2 }).kind, 'repair')
    }
    assert.equal(verdict(found('pending'), { repairs: 2 }).kind, 'overridden')
    assert.equal(verdict(MISSING, { repairs: 2 }).kind, 'unknown')
  })

  test('is left alone when its URL is not ours', () => {
    const links = [null, 'https://ci.example/1', page(7, 'https://other.example'), page('7/x'), page('')]
    for (const link of links) assert.equal(verdict(found('failure', link)).kind, 'overridden', String(link))
  })

  test('is left to the newest run', () => {
    assert.deepEqual(verdict(found('pending', page(9))), {
      kind: 'overridden',
      detail: 'Run #9 has set this status since.',
    })
    assert.equal(verdict(MISSING, { newerActionId: 8 }).kind, 'overridden')
    assert.equal(verdict(found('success'), { newerActionId: 8 }).kind, 'hides-newer')
    assert.equal(verdict(found('pending', page(6)), { newerActionId: 8 }).kind, 'hides-newer')
  })

  test('is unknown when it cannot be read', () => {
    const remote: RemoteStatus = { kind: 'unreadable', reason: 'GitHub returned 502.', isTemporary: true }
    assert.deepEqual(verdict(remote), {
      kind: 'unknown',
      detail: 'GitHub returned 502.',
      isTemporary: true,
    })
  })
})

test('checks come after 5 s, 1 min and 10 min; a few more when the service cannot be asked', () => {
  const next = (ageMs: number, checks: number, isTemporary = false) =>
    nextCheck({ ageMs, checks, isTemporary })
  assert.equal(next(5_400, 1), 54_600)
  assert.equal(next(60_000, 2), 540_000)
  assert.equal(next(600_000, 3), null)
  assert.equal(next(86_400_000, 1), null)
  assert.equal(next(600_000, 3, true), 600_000)
  assert.equal(next(6_000_000, 6, true), null)
})
