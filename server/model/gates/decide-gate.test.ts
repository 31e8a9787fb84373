import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { freezesThatHold, type GateFacts, type GateVerdict, judgeGates } from './decide-gate.ts'
import { DECISIONS } from './test-decisions.ts'

const CHECKS: Record<string, GateFacts['checks']> = {
  none: null,
  waiting: { state: 'waiting', isOverridden: false },
  green: { state: 'green', isOverridden: false },
  red: { state: 'red', isOverridden: false },
  overridden: { state: 'waiting', isOverridden: true },
}
const asked = { required: 2, approvals: 1, isRejected: false, isExpired: false }
const APPROVAL: Record<string, GateFacts['approval']> = {
  none: null,
  asked,
  approved: { ...asked, approvals: 2 },
  rejected: { ...asked, isRejected: true },
  expired: { ...asked, isExpired: true },
  'approved-late': { ...asked, approvals: 2, isExpired: true },
}
const LATER = 2
const freeze = (id: number, from = 1) => ({ id, window: { from } })
const overridden = (id: number, from = 1) => ({ id, from, givenAt: from })
const FREEZES: Record<string, Pick<GateFacts, 'freezes' | 'overriddenFreezes'>> = {
  none: { freezes: [], overriddenFreezes: [] },
  held: { freezes: [freeze(1)], overriddenFreezes: [] },
  overridden: { freezes: [freeze(1)], overriddenFreezes: [overridden(1)] },
  second: { freezes: [freeze(1), freeze(2)], overriddenFreezes: [overridden(1)] },
  later: { freezes: [freeze(1, LATER)], overriddenFreezes: [overridden(1)] },
}

const rows = DECISIONS.trim()
  .split('\n')
  .map((line) => {
    const [given, expected] = line.split(' → ')
    const [run, checks, approval, freezes] = given!.trim().split(/\s+/)
    const facts: GateFacts = {
      startedAt: null,
      isRollback: run === 'rollback',
      checks: CHECKS[checks!]!,
      approval: APPROVAL[approval!]!,
      ...FREEZES[freezes!]!,
    }
    return { line: line.trim(), facts, expected: expected! }
  })

const shown = (verdict: GateVerdict) => Object.values(verdict).join(' ')

suite('the table of decisions', () => {
  test('has every combination once', () => {
    const given = new Set(rows.map(({ line }) => line.split(' → ')[0]!.trim().replace(/\s+/g, ' ')))
    assert.equal(given.size, rows.length)
    assert.ok(rows.length >= 120)
  })

  for (const { line, facts, expected } of rows)
    test(line.replace(/\s+/g, ' '), () => {
      assert.equal(shown(judgeGates(facts)), expected)
      // Whatever it says, a run that has started continues.
      assert.deepEqual(judgeGates({ ...facts, startedAt: '2026-01-01T00:00:00Z' }), { kind: 'open' })
    })
})

/** What may happen to a run and around it, in any order: each changes the facts that are stored. */
type Event =
  | { kind: 'freeze begins' | 'freeze ends'; id: number; from: number }
  | { kind: 'freezes are overridden' | 'checks are overridden' | 'checks turn green' | 'checks turn red' }
  | { kind: 'approved' | 'rejected' | 'time passes' | 'what ships changes' }

const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('freeze begins' as const, 'freeze ends' as const),
    id: fc.integer({ min: 1, max: 3 }),
    from: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constantFrom(
      'freezes are overridden' as const,
      'checks are overridden' as const,
      'checks turn green' as const,
      'checks turn red' as const,
      'approved' as const,
      'rejected' as const,
      'time passes' as const,
      'what ships changes' as const,
    ),
  }),
)

/** As the stores do it, under the lock of the environment: what has ended takes no more. */
function apply(facts: GateFacts, event: Event): GateFacts {
  if (judgeGates(facts).kind === 'ended') return facts
  const { checks, approval, freezes, overriddenFreezes } = facts
  switch (event.kind) {
    case 'freeze begins':
      return {
        ...facts,
        freezes: [...freezes.filter(({ id }) => id !== event.id), freeze(event.id, event.from)],
      }
    case 'freeze ends':
      return { ...facts, freezes: freezes.filter(({ id }) => id !== event.id) }
    case 'freezes are overridden':
      return {
        ...facts,
        overriddenFreezes: [
          ...overriddenFreezes,
          ...freezes.map(({ id, window }) => overridden(id, window.from)),
        ],
      }
    case 'checks are overridden':
      return { ...facts, checks: checks && { ...checks, isOverridden: true } }
    case 'checks turn green':
      return { ...facts, checks: checks && { ...checks, state: 'green' } }
    case 'checks turn red':
      return { ...facts, checks: checks && { ...checks, state: 'red' } }
    case 'approved':
      return { ...facts, approval: approval && { ...approval, approvals: approval.approvals + 1 } }
    case 'rejected':
      return { ...facts, approval: approval && { ...approval, isRejected: true } }
    case 'time passes':
      return { ...facts, approval: approval && { ...approval, isExpired: true } }
    case 'what ships changes':
      return { ...facts, approval: approval && { ...approval, approvals: 0, isExpired: false } }
  }
}

const histories = fc.tuple(
  fc.constantFrom(...rows.map(({ facts }) => facts)),
  fc.array(events, { maxLength: 12 }),
)

suite('after any history', () => {
  const after = (first: GateFacts, happened: readonly Event[]) => happened.reduce(apply, first)

  test('a run is let through only if no freeze holds it, enough people agreed, and its checks are green', () => {
    fc.assert(
      fc.property(histories, ([first, happened]) => {
        const facts = after(first, happened)
        const { approval, checks, isRollback } = facts
        const isOpen = judgeGates(facts).kind === 'open'
        const agreed = approval === null || (approval.approvals >= approval.required && !approval.isRejected)
        const checked = checks === null || isRollback || checks.isOverridden || checks.state === 'green'
        assert.equal(isOpen, agreed && checked && freezesThatHold(facts).length === 0)
      }),
    )
  })

  test('what has ended stays ended, whatever comes next', () => {
    fc.assert(
      fc.property(histories, fc.array(events, { maxLength: 6 }), ([first, happened], more) => {
        const facts = after(first, happened)
        const verdict = judgeGates(facts)
        if (verdict.kind === 'ended') assert.deepEqual(judgeGates(after(facts, more)), verdict)
      }),
    )
  })

  test('of two events at the same time one comes first, and the other finds what that one left', () => {
    fc.assert(
      fc.property(histories, events, events, ([first, happened], one, other) => {
        const facts = after(first, happened)
        const results = [after(facts, [one, other]), after(facts, [other, one])].map(judgeGates)
        const kinds = new Set([one.kind, other.kind])
        // A run that was rejected does not start, even if other people approved or overrode.
        if (kinds.has('rejected') && facts.approval)
          for (const result of results) assert.equal(result.kind, 'ended')
        // One that a freeze holds does not start because something else about it was settled.
        if (kinds.has('freeze begins') && !kinds.has('freeze ends') && !kinds.has('freezes are overridden'))
          for (const [index, result] of results.entries())
            if (result.kind === 'open') {
              const left = after(facts, index === 0 ? [one, other] : [other, one])
              assert.deepEqual(freezesThatHold(left), [])
            }
      }),
    )
  })

  test('an override covers what was in force, and nothing that comes later', () => {
    const ids = fc.integer({ min: 1, max: 3 })
    fc.assert(
      fc.property(histories, ids, ids, ([first, happened], id, from) => {
        const facts = after(first, happened)
        const isSame = (one: { id: number; window: { from: number } }) =>
          one.id === id && one.window.from === from
        const isKnown = facts.freezes.some(isSame)
        const wasOverridden = facts.overriddenFreezes.some((one) => one.id === id && one.from === from)
        const through = apply(facts, { kind: 'freezes are overridden' })
        const later = apply(through, { kind: 'freeze begins', id, from })
        if (judgeGates(facts).kind === 'ended' || facts.isRollback) return
        assert.deepEqual(freezesThatHold(through), [])
        assert.equal(freezesThatHold(later).some(isSame), !isKnown && !wasOverridden)
      }),
    )
  })
})

suite('an override that an earlier release stored, without the window', () => {
  const given = (givenAt: number, from: number) =>
    freezesThatHold({
      ...{ isRollback: false, startedAt: null, freezes: [freeze(1, from)] },
      overriddenFreezes: [{ id: 1, from: null, givenAt }],
    }).length

  test('covers the window that was open when it was given', () => {
    assert.equal(given(5, 4), 0)
    assert.equal(given(5, 5), 0)
  })

  test('does not cover one that began later', () => {
    assert.equal(given(5, 6), 1)
  })
})
