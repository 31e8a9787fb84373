import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { placeSteps, sortByAfter, type WantedStep } from './orders.ts'

/** Does the moves, one after the other, as they are stored. */
function placed(today: string[], wanted: WantedStep[]): string[] {
  let now = [...today]
  for (const [name, { after }] of placeSteps(today, wanted).moves) {
    now = now.filter((one) => one !== name)
    now.splice(after === null ? 0 : now.indexOf(after) + 1, 0, name)
  }
  return now
}

const named = (...names: string[]): WantedStep[] => names.map((name) => ({ name }))

suite('steps', () => {
  test('of a list come after all others, in its order', () => {
    assert.deepEqual(placed(['a', 'b'], named('x', 'y')), ['a', 'b', 'x', 'y'])
    assert.deepEqual(placed([], named('x', 'y')), ['x', 'y'])
  })

  test('follow the one that they name, or the one above them in the list', () => {
    const wanted = [{ name: 'x', trigger_after: 'a' }, { name: 'y' }, { name: 'first', trigger_after: null }]
    assert.deepEqual(placed(['a', 'b'], wanted), ['first', 'a', 'x', 'y', 'b'])
  })

  test('that are where they belong are not moved', () => {
    const wanted = [{ name: 'x', trigger_after: 'a' }, { name: 'y' }]
    assert.equal(placeSteps(['a', 'x', 'y', 'b'], wanted).moves.size, 0)
    assert.deepEqual([...placeSteps(['a', 'y', 'x', 'b'], wanted).moves.keys()], ['x'])
  })

  test('end up in one order, whatever the order was', () => {
    const wanted = [{ name: 'x', trigger_after: 'b' }, { name: 'y' }, { name: 'z', trigger_after: null }]
    const names = ['a', 'b', 'x', 'y', 'z']
    for (const today of permutations(names).filter((one) => one.indexOf('a') < one.indexOf('b')))
      assert.deepEqual(placed(today, wanted), ['z', 'a', 'b', 'x', 'y'], today.join(' '))
  })

  test('that are to follow what is not there, or stands below them, are lost', () => {
    const { lost } = placeSteps(['a'], [{ name: 'x', trigger_after: 'y' }, { name: 'y' }, { name: 'z' }])
    assert.deepEqual([...lost], ['x'])
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

  test('in a circle are told, from one back to itself', () => {
    const sorted = sortByAfter(
      new Map([
        ['x', ['a']],
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['a']],
      ]),
    )
    assert.deepEqual(sorted, { kind: 'circle', keys: ['a', 'b', 'c', 'a'] })
    assert.deepEqual(sortByAfter(new Map([['a', ['a']]])), { kind: 'circle', keys: ['a', 'a'] })
  })
})

function permutations(names: string[]): string[][] {
  if (names.length <= 1) return [names]
  return names.flatMap((name) =>
    permutations(names.filter((one) => one !== name)).map((rest) => [name, ...rest]),
  )
}
