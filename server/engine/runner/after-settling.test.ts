import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settled } from '#model/live/settle.ts'
import { afterSettling, type Continuation, type Interruption, type Switch } from './after-settling.ts'

const [OLD, NEW, THIRD] = ['20261101120000-00000001', '20261102120000-00000002', '20261103120000-00000003']
const FOUND: Record<string, Settled> = {
  'this run': { kind: 'this-run', releaseName: NEW, before: OLD },
  'the one before': { kind: 'other', releaseName: OLD },
  'a third one': { kind: 'other', releaseName: THIRD },
  nothing: { kind: 'nothing' },
  unknown: { kind: 'unknown', reason: 'The server cannot be reached.' },
}
const INTERRUPTIONS: Interruption[] = ['connection', 'worker', 'failure', 'cancellation']

/** For each of INTERRUPTIONS. */
const EXPECTED: Record<Switch, Record<keyof typeof FOUND, Continuation[]>> = {
  'activate-new-release': {
    'this run': ['complete', 'complete', 'end-activated', 'end-activated'],
    'the one before': ['repeat', 'repeat', 'end', 'end'],
    'a third one': ['repeat', 'repeat', 'end', 'end'],
    nothing: ['repeat', 'repeat', 'end', 'end'],
    unknown: ['end', 'end', 'end', 'end'],
  },
  'revert-release': {
    'this run': ['repeat', 'repeat', 'end-activated', 'end-activated'],
    'the one before': ['complete', 'complete', 'complete', 'complete'],
    'a third one': ['end', 'end', 'end', 'end'],
    nothing: ['end', 'end', 'end', 'end'],
    unknown: ['end', 'end', 'end', 'end'],
  },
}

for (const [step, byFound] of Object.entries(EXPECTED))
  for (const [found, expected] of Object.entries(byFound))
    test(`${step}, and ${found} is live`, () => {
      const continuations = INTERRUPTIONS.map((interruption) =>
        afterSettling(step as Switch, interruption, FOUND[found]!, OLD),
      )
      assert.deepEqual(continuations, expected)
    })

test('where it is not known what was live before, any other release than that of the run is', () => {
  assert.equal(afterSettling('revert-release', 'worker', FOUND['a third one']!, null), 'complete')
})
