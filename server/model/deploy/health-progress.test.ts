import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeTry, NO_TRIES, type Progress } from './health-progress.ts'

/** Tries in turn, each of which takes `ms`: the lines, when each try started, and the end. */
function play(
  { interval = 2, within = 10, healthyFor = 0 },
  answers: readonly (boolean | { healthy: boolean; ms: number })[],
) {
  const timing = { interval_seconds: interval, within_seconds: within, healthy_for_seconds: healthyFor }
  let progress: Progress = NO_TRIES
  let startedAt = 0
  const lines: string[] = []
  const starts: number[] = []
  for (const answer of answers) {
    const { healthy, ms } = typeof answer === 'boolean' ? { healthy: answer, ms: 10 } : answer
    const tried = {
      isHealthy: healthy,
      text: healthy ? 'HTTP 200' : 'HTTP 503',
      startedAt,
      endedAt: startedAt + ms,
    }
    const judged = judgeTry(timing, progress, tried)
    lines.push(judged.line)
    starts.push(startedAt)
    if (judged.kind !== 'again') return { kind: judged.kind, lines, starts, judged }
    progress = judged.progress
    startedAt = judged.at
  }
  return { kind: 'again', lines, starts }
}

test('the first healthy try is enough unless it must stay healthy', () => {
  const { kind, lines, starts } = play({}, [false, false, true])
  assert.equal(kind, 'healthy')
  assert.deepEqual(lines, ['Try 1: HTTP 503', 'Try 2: HTTP 503', 'Try 3: HTTP 200: healthy'])
  assert.deepEqual(starts, [0, 2_000, 4_000])
})

test('it must be healthy in every try for as long as demanded, to the end', () => {
  const { kind, lines, starts } = play({ healthyFor: 3 }, [true, false, true, true, true])
  assert.equal(kind, 'healthy')
  assert.deepEqual(lines.slice(2), [
    'Try 3: HTTP 200: healthy, 0 of 3 s',
    'Try 4: HTTP 200: healthy, 2 of 3 s',
    'Try 5: HTTP 200: healthy, 3 of 3 s',
  ])
  assert.deepEqual(starts, [0, 2_000, 4_000, 6_000, 7_010])
})

const messageOf = ({ judged }: ReturnType<typeof play>) => judged?.kind === 'unhealthy' && judged.message

test('it has all of its time: the last try is at the end of it, and the message says what it found', () => {
  const failed = play({ within: 5 }, [false, false, false, false, false])
  assert.deepEqual([failed.kind, failed.starts], ['unhealthy', [0, 2_000, 4_000, 5_000]])
  assert.equal(messageOf(failed), 'Not healthy within 5 s: HTTP 503.')
  const slow = { healthy: false, ms: 2_100 }
  const waited = play({ within: 4 }, [slow, true])
  assert.deepEqual([waited.kind, waited.starts], ['healthy', [0, 2_100]])
  const atTheEnd = play({ within: 4 }, [{ healthy: false, ms: 100 }, { healthy: false, ms: 100 }, true])
  assert.deepEqual([atTheEnd.kind, atTheEnd.starts], ['healthy', [0, 2_000, 4_000]])
  // The next one would be too late by its interval.
  const between = play({ interval: 3, within: 4 }, [false, false, true])
  assert.deepEqual([between.kind, between.starts], ['healthy', [0, 3_000, 4_000]])
})

test('the time that it must stay healthy is part of it: when too little is left, the message says after how long', () => {
  const late = play({ within: 5, healthyFor: 2 }, [false, false, false])
  assert.deepEqual([late.kind, late.starts], ['unhealthy', [0, 2_000, 3_000]])
  assert.equal(
    messageOf(late),
    'Not healthy after 3 s, which leaves too little time to be healthy for 2 s within 5 s: HTTP 503.',
  )
  const inTime = play({ within: 5, healthyFor: 2 }, [false, false, true, true])
  assert.deepEqual([inTime.kind, inTime.starts], ['healthy', [0, 2_000, 3_000, 5_000]])
})

test('what was healthy from the first try on may be so for all of the time', () => {
  assert.equal(play({ within: 4, healthyFor: 4 }, [true, true, true]).kind, 'healthy')
})

test('a slow try is not a long time of health, and delays the next one', () => {
  const slow = { healthy: true, ms: 5_000 }
  assert.deepEqual(play({ healthyFor: 5 }, [slow, true]).kind, 'again')
  assert.deepEqual(play({}, [{ healthy: false, ms: 5_000 }, true]).starts, [0, 5_000])
})

test('a finding that cannot change ends it immediately', () => {
  const timing = { interval_seconds: 1, within_seconds: 60, healthy_for_seconds: 0 }
  const tried = { isHealthy: false, isFinal: true, text: 'no curl', startedAt: 0, endedAt: 5 }
  const judged = judgeTry(timing, NO_TRIES, tried)
  assert.equal(judged.kind === 'unhealthy' && judged.message, 'Not healthy: no curl.')
})
