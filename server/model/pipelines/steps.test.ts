import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type After, moveStep } from './steps.ts'

const [a, b, c] = ['a', 'b', 'c'].map((name, index) => ({ stepKey: index + 1, name })) as [
  { stepKey: number; name: string },
  { stepKey: number; name: string },
  { stepKey: number; name: string },
]
const namesOf = (moved: typeof a, after: After) => {
  const placed = moveStep([a, b, c], moved, after)
  return placed.kind === 'placed' ? placed.steps.map(({ name }) => name).join('') : placed.kind
}

test('a step moves after the given one, by name or id, or to the front', () => {
  assert.equal(namesOf(a, 'c'), 'bca')
  assert.equal(namesOf(c, 1), 'acb')
  assert.equal(namesOf(b, null), 'bac')
  assert.equal(namesOf(b, 'a'), 'abc')
})

test('a new step is inserted among the others', () => {
  const fresh = { stepKey: 0, name: 'new' }
  assert.equal(namesOf(fresh, null), 'newabc')
  assert.equal(namesOf(fresh, 3), 'abcnew')
})

test('a step cannot follow itself or an unknown step', () => {
  assert.equal(namesOf(a, 'a'), 'after-itself')
  assert.equal(namesOf(a, 1), 'after-itself')
  assert.equal(namesOf(a, 'x'), 'unknown')
  assert.equal(namesOf(a, '2'), 'unknown')
})
