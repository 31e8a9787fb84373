import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type DesiredStep, moveSteps, sortByAfter } from './sequence.ts'

/** Carries out the moves one after the other, as they are stored. */
function afterMoves(current: string[], desired: DesiredStep[]): string[] {
  let now = [...current]
  for (const [name, { after }] of moveSteps(current, desired).moves) {
    now = now.filter((one) => one !== name)
    now.splice(after === null ? 0 : now.indexOf(after) + 1, 0, name)
  }
  return now
}

const named = (...names: string[]): DesiredStep[] => names.map((name) => ({ name }))

suite('steps', () => {
  test('of a list come after all others, in list order', () => {
    assert.deepEqual(afterMoves(['a', 'b'], named('x', 'y')), ['a', 'b', 'x', 'y'])
    assert.deepEqual(afterMoves([], named('x', 'y')), ['x', 'y'])
  })

  test('follow the step that they name, or the one above them in the list', () => {
    const desired = [{ name: 'x', trigger_after: 'a' }, { name: 'y' }, { name: 'first', trigger_after: null }]
    assert.deepEqual(afterMoves(['a', 'b'], desired), ['first', 'a', 'x', 'y', 'b'])
  })

  test('in the right position are not moved', () => {
    const desired = [{ name: 'x', trigger_after: 'a' }, { name: 'y' }]
    assert.equal(moveSteps(['a', 'x', 'y', 'b'], desired).moves.size, 0)
    assert.deepEqual([...moveSteps(['a', 'y', 'x', 'b'], desired).moves.keys()], ['x'])
  })

  test('end up in the same order, whatever the order was', () => {
    const desired = [{ name: 'x', trigger_after: 'b' }, { name: 'y' }, { name: 'z', trigger_after: null }]
    const names = ['a', 'b', 'x', 'y', 'z']
    for (const current of permutations(names).filter((one) => one.indexOf('a') < one.indexOf('b')))
      assert.deepEqual(afterMoves(current, desired), ['z', 'a', 'b', 'x', 'y'], current.join(' '))
  })

  test('that name a missing step, or one below them, are unresolved', () => {
    const { unresolved } = moveSteps(['a'], [{ name: 'x', trigger_after: 'y' }, { name: 'y' }, { name: 'z' }])
    assert.deepEqual([...unresolved], ['x'])
  })
})

suite('pipelines', () => {
  test('come after all that they run after', () => {
    const sorted = sortByAfter(
      new Map([
        ['c', ['b', 'a']],
        ['b', ['a']],
        ['a', []],
      ]),
    )
    assert.deepEqual(sorted, { kind: 'sorted', keys: ['a', 'b', 'c'] })
  })

  test('in a cycle are reported, from one back to itself', () => {
    const sorted = sortByAfter(
      new Map([
        ['x', ['a']],
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['a']],
      ]),
    )
    assert.deepEqual(sorted, { kind: 'cycle', keys: ['a', 'b', 'c', 'a'] })
    assert.deepEqual(sortByAfter(new Map([['a', ['a']]])), { kind: 'cycle', keys: ['a', 'a'] })
  })
})

function permutations(names: string[]): string[][] {
  if (names.length <= 1) return [names]
  return names.flatMap((name) =>
    permutations(names.filter((one) => one !== name)).map((rest) => [name, ...rest]),
  )
}
