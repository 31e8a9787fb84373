// What the forms of approvals and freezes send, without a browser.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Freeze, Gate } from '#web/base/api/types.ts'
import {
  type ApprovalDetails,
  approvalSummary,
  type Covered,
  whyNotApprove,
  whyNotCounted,
  whyTooLate,
} from '#web/pages/action/gates.ts'
import {
  approvalBody,
  approvalField,
  approvalValues,
  describeApproval,
  describeMinutes,
} from '#web/pages/environments/approval-input.ts'
import {
  describeFreeze,
  freezeBody,
  freezeField,
  freezeValues,
  isOver,
  wallTime,
} from '#web/pages/environments/freeze-input.ts'

suite('the form of approvals', () => {
  const approval = {
    required: 2,
    from: { user_ids: [12], role_ids: [3], roles: ['admin' as const] },
    not_the_starter: true,
    expires_after_minutes: 60,
    operations: ['deploy' as const],
    rollbacks: true,
  }

  test('sends what it was given', () => {
    assert.deepEqual(approvalValues(approval).approvers, ['admin', 'role 3', 'user 12'])
    assert.deepEqual(approvalBody(approvalValues(approval)), { approval })
    const all = { ...approval, from: null, operations: null }
    assert.deepEqual(approvalBody(approvalValues(all)), { approval: all })
    assert.deepEqual(approvalBody(approvalValues(null)), { approval: null })
  })

  test('leaves it to the API to reject what is no number', () => {
    const values = { ...approvalValues(approval), required: 'two' }
    assert.equal(approvalBody(values).approval?.required, 'two')
  })

  test('shows errors at their inputs', () => {
    const fields = ['approval.required', 'approval.from', 'approval.from.user_ids.0', 'name']
    assert.deepEqual(fields.map(approvalField), ['required', 'approvers', 'approvers', undefined])
  })

  test('is summarized in a sentence', () => {
    assert.equal(describeApproval(null), 'Runs start without approval.')
    assert.equal(
      describeApproval(approval),
      '2 approvals by listed people and roles before a run starts (deploy). Expires after 1 hour.',
    )
    assert.deepEqual([10_080, 90, 1].map(describeMinutes), ['7 days', '90 minutes', '1 minute'])
  })
})

suite('the form of a freeze', () => {
  const once: Freeze = {
    ...{ id: 1, organization_id: 1, environment_id: 1, name: 'Holidays', reason: 'Closed' },
    ...{ starts_at: '2026-12-24T12:00:00.000Z', ends_at: null, weekly: null, time_zone: null },
    ...{ when_over: 'all', in_force: false, in_force_until: null, created_at: '2026-01-01T00:00:00.000Z' },
  } as Freeze
  const weekly = { from: { day: 'friday', time: '16:00' }, to: { day: 'monday', time: '08:00' } } as const
  const now = new Date('2026-11-18T15:20:30.000Z')

  test('sends the times of the wall as instants', () => {
    const { starts_at, ends_at } = freezeBody(freezeValues(once, now, 'UTC'))
    assert.deepEqual([starts_at, ends_at], [once.starts_at, null])
    assert.equal(new Date(wallTime(once.starts_at!)).toISOString(), once.starts_at)
    assert.equal(freezeValues(undefined, now, 'UTC').starts_at, wallTime(now.toISOString()))
  })

  test('sends days and times of a weekly one with their time zone, and nothing else', () => {
    const freeze = { ...once, starts_at: null, weekly, time_zone: 'Europe/Berlin' }
    assert.deepEqual(freezeBody(freezeValues(freeze, now, 'UTC')), {
      ...{ name: 'Holidays', reason: 'Closed', when_over: 'all' },
      ...{ weekly, time_zone: 'Europe/Berlin' },
    })
    assert.deepEqual(['weekly.from.time', 'weekly.to', 'time_zone'].map(freezeField), [
      'from_time',
      'to_time',
      undefined,
    ])
    assert.equal(describeFreeze(freeze), 'Every week from Friday 16:00 to Monday 08:00 (Europe/Berlin)')
  })

  test('of one that is over is not listed', () => {
    assert.equal(isOver({ ...once, ends_at: '2026-11-18T15:20:30.000Z' }, now), true)
    assert.equal(isOver({ ...once, ends_at: '2026-11-18T15:20:31.000Z' }, now), false)
    assert.equal(isOver(once, now), false)
  })
})

suite('a run that waits for approval', () => {
  const by = (id: number, counts: boolean) => ({
    ...{ user: { id, name: `Person ${id}` }, decision: 'approved' as const, comment: null },
    ...{ created_at: '2026-11-18T12:00:00.000Z', lapsed_at: null, counts },
  })
  const details: ApprovalDetails = {
    ...{ covers: null, subject: 'abc', is_preparing: false, required: 2, problem: null, live: null },
    ...{ decisions: [by(1, true), by(2, false)], you_may_approve: true, why_not: null },
  }

  test('counts only people who still may approve, and says who does not count', () => {
    const gate = { gate: 'approval', state: 'closed', details } as unknown as Gate
    assert.equal(approvalSummary(gate, 'WAITING_APPROVAL'), '1 of 2 approvals')
    assert.deepEqual(details.decisions.map(whyNotCounted), [undefined, 'who may no longer approve it'])
  })

  test('is not approved twice by the same person, unless their approval does not count', () => {
    assert.equal(whyNotApprove(details, 1), 'You have approved this run.')
    assert.deepEqual([whyNotApprove(details, 2), whyNotApprove(details, 3)], [undefined, undefined])
  })

  test('that was approved by people who may no longer approve it says what follows', () => {
    const gate = { gate: 'approval', state: 'open', details } as unknown as Gate
    const again =
      'Approved, but too few of these people still may: before it starts, it waits for approval again'
    assert.equal(approvalSummary(gate, 'WAITING_FREEZE'), again)
    const enough = { ...gate, details: { ...details, decisions: [by(1, true), by(2, true)] } }
    assert.equal(approvalSummary(enough as unknown as Gate, 'WAITING_FREEZE'), 'Approved')
  })
})

suite('a decision about something that has changed since', () => {
  const server = { name: 'web-1', host: null, port: null, login: null, root_directory: '/srv' }
  const covers: Covered = {
    servers: [server],
    steps: [{ name: 'build', command: 'make', run_as_user: null, health_check: null }],
    application: null,
    variables: ['A'],
    rollout: null,
  }
  const seen: ApprovalDetails = {
    ...{ covers, subject: 'abc', is_preparing: false, required: 1, problem: null, live: { 1: null } },
    ...{ decisions: [], you_may_approve: true, why_not: null },
  }
  const gateOf = (more: Partial<ApprovalDetails>, state = 'closed') =>
    ({ gate: 'approval', state, details: { ...seen, ...more } }) as unknown as Gate
  const ask = (more: Partial<ApprovalDetails>) => whyTooLate(gateOf(more), seen, 'WAITING_APPROVAL')

  test('is possible while nothing has', () => {
    assert.equal(ask({}), undefined)
  })

  test('names what has changed, and asks to look again', () => {
    const text = (what: string) =>
      `Since you looked, ${what} changed. Look at what ships now, then decide again.`
    const other = { ...covers, servers: [{ ...server, root_directory: '/opt' }] }
    assert.equal(ask({ subject: 'x', covers: other }), text('the servers have'))
    const more = { ...other, variables: [], rollout: { batch: 1, max_failed: 0 } }
    assert.equal(ask({ subject: 'x', covers: more }), text('the servers, the variables and the rollout have'))
    const live = { 1: { release: 'r', commit: 'c' } }
    assert.equal(ask({ subject: 'x', live }), text('what is live on the servers has'))
    assert.equal(
      ask({ subject: 'x' }),
      text('something that it covers, such as the value of a variable, has'),
    )
  })

  test('says that Gantry is looking at it until it is known', () => {
    const text = 'Something has changed since you looked. Gantry is finding out what would ship now…'
    assert.equal(ask({ subject: null, covers: null, live: null, is_preparing: true }), text)
  })

  test('says how the run ended, or that it was approved', () => {
    const late = (state: string, reason: string) => whyTooLate(gateOf({ subject: null }, state), seen, reason)
    assert.equal(late('open', 'QUEUED'), 'This run was approved meanwhile.')
    assert.match(late('failed', 'SKIPPED_EXPIRED')!, /has expired/)
    assert.match(late('failed', 'FAILED_REJECTED')!, /no longer waits/)
  })
})
