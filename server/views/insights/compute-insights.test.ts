import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateHistory } from '#test/support/deployment-histories.ts'
import { computeInsights, type SwitchingRun } from './compute-insights.ts'

const RANGE = { from: '2026-11-01', to: '2026-11-10' }
const at = (time: string) => Date.parse(`2026-11-${time}:00Z`)

let ids = 0
/** A deploy that completed a minute after it had switched its servers. */
function deploy(time: string, more: Partial<SwitchingRun> = {}): SwitchingRun {
  const activated = at(time)
  return {
    actionId: ++ids,
    applicationId: 1,
    isRollback: false,
    hasNewCommit: true,
    committedAt: activated - 3_600_000,
    serverIds: [1, 2],
    revertedServerIds: [],
    firstActivatedAt: activated,
    lastActivatedAt: activated,
    revertedAt: null,
    result: 'COMPLETED',
    endedAt: activated + 60_000,
    ...more,
  }
}
const rollback = (time: string, more: Partial<SwitchingRun> = {}) =>
  deploy(time, { isRollback: true, ...more })
const reverted = (time: string, until: string, more: Partial<SwitchingRun> = {}) =>
  deploy(time, {
    result: 'FAILED_REVERTED',
    revertedServerIds: [1, 2],
    revertedAt: at(until),
    endedAt: at(until),
    ...more,
  })

const insights = (...runs: SwitchingRun[]) => computeInsights(runs, RANGE)
const failuresOf = (...runs: SwitchingRun[]) => {
  const { change_failure, restore_seconds } = insights(...runs)
  return [change_failure.failed, restore_seconds.p50, restore_seconds.open]
}

test('insights of 200 generated histories are what happened in them', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const { runs, range, expected } = generateHistory(seed)
    // In no particular order: each run says when it was.
    const shuffled = runs.toSorted((one, other) => ((one.actionId * 7) % 13) - ((other.actionId * 7) % 13))
    assert.deepEqual(computeInsights(shuffled, range), expected, `history ${seed}`)
  }
})

test('generated histories have something of everything', () => {
  const all = Array.from({ length: 200 }, (_, seed) => generateHistory(seed + 1))
  const sum = (count: (history: (typeof all)[number]) => number) => all.reduce((n, one) => n + count(one), 0)
  assert.ok(sum(({ expected }) => expected.change_failure.failed) > 100)
  assert.ok(sum(({ expected }) => expected.restore_seconds.open) > 10)
  assert.ok(sum(({ expected }) => expected.restore_seconds.samples) > 100)
  assert.ok(sum(({ runs }) => runs.filter((run) => !run.isRollback && !run.hasNewCommit).length) > 50)
  assert.ok(sum(({ runs }) => runs.filter((run) => run.committedAt === null).length) > 50)
  assert.ok(sum(({ runs }) => runs.filter((run) => run.committedAt! > run.lastActivatedAt).length) > 50)
  assert.ok(sum(({ runs }) => runs.filter((run) => run.result === null).length) > 5)
})

describe('deployments', () => {
  test('of an application that was never deployed are none, on every day', () => {
    const { days, ...rest } = insights()
    assert.deepEqual(rest, {
      ...RANGE,
      deployments: { count: 0, per_day: 0 },
      lead_time_seconds: { p50: null, p90: null, samples: 0 },
      change_failure: { failed: 0, rate: null },
      restore_seconds: { p50: null, p90: null, samples: 0, open: 0 },
    })
    assert.deepEqual(days.length, 10)
    assert.deepEqual(days[9], { date: '2026-11-10', deployments: 0, rollbacks: 0, reverts: 0 })
  })

  test('are neither rollbacks nor redeploys of the commit that was live', () => {
    const { deployments, days } = insights(
      deploy('02T10:00'),
      rollback('03T10:00'),
      deploy('04T10:00', { hasNewCommit: false }),
    )
    assert.deepEqual(deployments, { count: 1, per_day: 0.1 })
    assert.deepEqual(days.map((day) => [day.deployments, day.rollbacks]).slice(1, 4), [
      [1, 0],
      [0, 1],
      [0, 0],
    ])
  })

  test('count on the UTC day of their last activation, and at the borders of the range', () => {
    const at = (time: number) => ({ firstActivatedAt: 0, lastActivatedAt: time, endedAt: time })
    const first = Date.parse('2026-11-01T00:00:00Z')
    const end = Date.parse('2026-11-11T00:00:00Z')
    const { deployments, days } = insights(
      deploy('01T00:00', at(first - 1)),
      deploy('01T00:00', at(first)),
      deploy('01T00:00', at(end - 1)),
      deploy('01T00:00', at(end)),
    )
    assert.equal(deployments.count, 2)
    assert.deepEqual([days[0]!.deployments, days[9]!.deployments], [1, 1])
  })

  test('that began before the range and were reverted in it are reverts of the range only', () => {
    const before = { firstActivatedAt: Date.parse('2026-10-31T23:59:00Z') }
    const { deployments, change_failure, days } = insights(
      reverted('01T00:00', '01T00:05', { ...before, lastActivatedAt: before.firstActivatedAt }),
    )
    assert.deepEqual([deployments.count, change_failure.failed, days[0]!.reverts], [0, 0, 1])
  })
})

describe('lead time', () => {
  test('runs from the commit to the last activation; without a date there is no sample', () => {
    const { lead_time_seconds } = insights(
      deploy('02T10:00', { committedAt: at('02T09:00'), firstActivatedAt: at('02T09:30') }),
      deploy('03T10:00', { committedAt: null }),
    )
    assert.deepEqual(lead_time_seconds, { p50: 3_600, p90: 3_600, samples: 1 })
  })

  test('of a commit that is dated later is zero', () => {
    const { lead_time_seconds } = insights(deploy('02T10:00', { committedAt: at('09T10:00') }))
    assert.deepEqual(lead_time_seconds, { p50: 0, p90: 0, samples: 1 })
  })

  test('is given by nearest rank', () => {
    const runs = Array.from({ length: 110 }, (_, index) =>
      deploy('02T10:00', { committedAt: at('02T10:00') - (index + 1) * 1_000 }),
    )
    assert.deepEqual(insights(...runs).lead_time_seconds, { p50: 55, p90: 99, samples: 110 })
  })
})

describe('a change failed', () => {
  test('if its run ended unhealthy or reverted, or could not be reverted', () => {
    for (const result of ['FAILED_REVERTED', 'FAILED_REVERT', 'FAILED_UNHEALTHY'] as const)
      assert.equal(insights(deploy('02T10:00', { result })).change_failure.failed, 1, result)
    for (const result of ['FAILED', 'FAILED_CANCELLED', 'FAILED_WORKER_LOST', null] as const)
      assert.equal(insights(deploy('02T10:00', { result })).change_failure.failed, 0, String(result))
  })

  test('if it was rolled back before the next one, and not after', () => {
    assert.equal(failuresOf(deploy('02T10:00'), rollback('02T11:00'))[0], 1)
    assert.equal(failuresOf(deploy('02T10:00'), deploy('02T10:30'), rollback('02T11:00'))[0], 1)
    const again = deploy('02T10:30', { hasNewCommit: false })
    assert.equal(failuresOf(deploy('02T10:00'), again, rollback('02T11:00'))[0], 1)
    const next = deploy('02T10:30', { serverIds: [3] })
    assert.equal(failuresOf(deploy('02T10:00'), next, rollback('02T11:00', { serverIds: [1] }))[0], 0)
  })

  test('not if the rollback was on other servers, was reverted everywhere, or was of another application', () => {
    assert.equal(failuresOf(deploy('02T10:00'), rollback('02T11:00', { serverIds: [3] }))[0], 0)
    assert.equal(failuresOf(deploy('02T10:00'), reverted('02T11:00', '02T11:05', { isRollback: true }))[0], 0)
    const partly = { isRollback: true, revertedServerIds: [1] }
    assert.equal(failuresOf(deploy('02T10:00'), reverted('02T11:00', '02T11:05', partly))[0], 1)
    assert.equal(failuresOf(deploy('02T10:00'), rollback('02T11:00', { applicationId: 2 }))[0], 0)
  })

  test('also if the rollback came after the range', () => {
    assert.deepEqual(failuresOf(deploy('10T23:50'), rollback('11T00:10')), [1, 21 * 60, 0])
  })
})

describe('time to restore', () => {
  test('runs from the first activation until the last revert', () => {
    const first = { firstActivatedAt: at('02T09:50') }
    assert.deepEqual(failuresOf(reverted('02T10:00', '02T10:05', first)), [1, 15 * 60, 0])
  })

  test('continues on a server that could not be reverted, until a rollback or the next healthy deployment', () => {
    const partly = reverted('02T10:00', '02T10:05', { result: 'FAILED_REVERT', revertedServerIds: [1] })
    assert.deepEqual(failuresOf(partly), [1, null, 1])
    assert.deepEqual(failuresOf(partly, rollback('02T11:00')), [1, 61 * 60, 0])
    assert.deepEqual(failuresOf(partly, deploy('02T12:00')), [1, 121 * 60, 0])
    assert.deepEqual(failuresOf(partly, deploy('02T12:00', { result: 'FAILED' })), [1, null, 1])
    assert.deepEqual(failuresOf(partly, deploy('02T12:00', { result: null, endedAt: null })), [1, null, 1])
  })

  test('ends with whichever is complete first, not with what started first', () => {
    const unhealthy = deploy('02T10:00', { result: 'FAILED_UNHEALTHY' })
    const slow = deploy('02T11:00', { endedAt: at('02T15:00') })
    const quick = rollback('02T12:00', { endedAt: at('02T12:30') })
    // The rollback is of the slow deployment, too.
    assert.deepEqual(insights(unhealthy, slow, quick).restore_seconds, {
      p50: 90 * 60,
      p90: 150 * 60,
      samples: 2,
      open: 0,
    })
  })
})
