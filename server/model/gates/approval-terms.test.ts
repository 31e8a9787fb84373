import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ApprovalTerms } from '#platform/database/tables.ts'
import {
  demandOf,
  eligibilityOf,
  NO_STARTERS,
  type Person,
  strictest,
  wholeApproval,
} from './approval-terms.ts'

const terms = (more: Partial<ApprovalTerms> = {}): ApprovalTerms => ({ ...wholeApproval({})!, ...more })
const person = (more: Partial<Person> = {}): Person => ({
  id: 1,
  email: 'Ada@Example.com',
  isActive: true,
  mayApprove: true,
  builtInRoles: ['admin'],
  roleIds: [],
  ...more,
})
const from = (more: object) => ({ user_ids: [], role_ids: [], roles: [], ...more })

test('a setting has every default; null means that runs need no approval', () => {
  assert.equal(wholeApproval(null), null)
  assert.deepEqual(wholeApproval({ from: { user_ids: [1] } })?.from, from({ user_ids: [1] }))
  assert.equal(wholeApproval({})?.required, 1)
})

test('several settings demand what the strictest of them does', () => {
  assert.equal(strictest([]), null)
  assert.deepEqual(
    strictest([
      terms({ required: 1, expires_after_minutes: 10, not_the_starter: false }),
      terms({ required: 3, expires_after_minutes: 60, from: from({ roles: ['owner'] }) }),
    ]),
    { required: 3, from: [from({ roles: ['owner'] })], notTheStarter: true, expiresAfterMinutes: 10 },
  )
})

const some: fc.Arbitrary<ApprovalTerms> = fc.record({
  required: fc.integer({ min: 1, max: 5 }),
  from: fc.option(
    fc.record({
      user_ids: fc.subarray([1, 2]),
      role_ids: fc.subarray([7, 8]),
      roles: fc.subarray(['owner', 'admin'] as const),
    }),
  ),
  not_the_starter: fc.boolean(),
  expires_after_minutes: fc.integer({ min: 1, max: 100 }),
  operations: fc.constant(null),
  rollbacks: fc.boolean(),
})
const someSettings = fc.array(some, { minLength: 1, maxLength: 4 })
const someone: fc.Arbitrary<Person> = fc.record({
  id: fc.constantFrom(1, 2, 3),
  email: fc.constantFrom('a@example.com', 'B@example.com'),
  isActive: fc.boolean(),
  mayApprove: fc.boolean(),
  builtInRoles: fc.subarray(['owner', 'admin', 'viewer']),
  roleIds: fc.subarray([7, 8, 9]),
})
const someStarters = fc.record({
  userIds: fc.subarray([1, 2]),
  emails: fc.subarray(['a@example.com', 'b@example.com']),
})

test('one more setting never makes a person eligible, nor lowers what is demanded', () => {
  fc.assert(
    fc.property(someSettings, some, someone, someStarters, (before, more, one, by) => {
      const [loose, strict] = [strictest(before)!, strictest([...before, more])!]
      assert.ok(strict.required >= loose.required)
      assert.ok(strict.expiresAfterMinutes <= loose.expiresAfterMinutes)
      if (eligibilityOf(one, strict, by) === 'eligible')
        assert.equal(eligibilityOf(one, loose, by), 'eligible')
    }),
  )
})

test('the newest setting says who approves when too few people are in the lists of all, and nothing else is loosened', () => {
  const crowd = fc.uniqueArray(someone, { selector: ({ id }) => id, maxLength: 3 })
  fc.assert(
    fc.property(someSettings, crowd, (settings, people) => {
      const [strict, newest] = [strictest(settings)!, strictest(settings.slice(-1))!]
      const demand = demandOf(settings, people)!
      const eligible = (one: typeof demand) =>
        people.filter((each) => eligibilityOf(each, one, NO_STARTERS) === 'eligible')
      const isStuck = eligible(strict).length < strict.required
      assert.deepEqual({ ...demand, from: [] }, { ...strict, from: [] })
      assert.deepEqual(eligible(demand), eligible(isStuck ? newest : strict))
      // No run is left behind that the people of the newest setting could approve.
      if (eligible(newest).length >= strict.required) assert.ok(eligible(demand).length >= demand.required)
    }),
  )
})

test('replaced approvers no longer count, and those after them do', () => {
  const [ann, bob] = [person({ id: 1 }), person({ id: 2 })]
  const by = (...user_ids: number[]) => terms({ from: from({ user_ids }) })
  const judge = (...settings: ApprovalTerms[]) =>
    [ann, bob].map((one) => eligibilityOf(one, demandOf(settings, [ann, bob])!, NO_STARTERS))
  assert.deepEqual(judge(by(1), by(2)), ['not_listed', 'eligible'])
  assert.deepEqual(judge(by(1), by(1, 2)), ['eligible', 'not_listed'])
  assert.deepEqual(judge(by(3), terms()), ['eligible', 'eligible'])
})

test('a person has to hold the permission, be listed, and not be a starter', () => {
  const demand = (more: Partial<ApprovalTerms> = {}) => strictest([terms(more)])!
  const judge = (one: Person, more?: Partial<ApprovalTerms>, starters = NO_STARTERS) =>
    eligibilityOf(one, demand(more), starters)
  assert.equal(judge(person()), 'eligible')
  assert.equal(judge(person({ mayApprove: false })), 'no_permission')
  assert.equal(judge(person({ isActive: false })), 'no_permission')
  assert.equal(judge(person(), { from: from({ user_ids: [2] }) }), 'not_listed')
  assert.equal(judge(person(), { from: from({ user_ids: [1] }) }), 'eligible')
  assert.equal(judge(person({ roleIds: [7] }), { from: from({ role_ids: [7] }) }), 'eligible')
  assert.equal(judge(person(), { from: from({ roles: ['admin'] }) }), 'eligible')
  assert.equal(judge(person(), {}, { userIds: [1], emails: [] }), 'starter')
  assert.equal(judge(person(), {}, { userIds: [], emails: ['ada@example.com'] }), 'starter')
  assert.equal(judge(person(), { not_the_starter: false }, { userIds: [1], emails: [] }), 'eligible')
})
