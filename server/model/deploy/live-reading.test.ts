import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLive, withoutLiveLine } from './live-reading.ts'

const NAME = '20261101120000-0123abcd'

test('the last line for Gantry counts, and anything else is no reading', () => {
  assert.deepEqual(parseLive(`hello\ngantry-live nothing\ngantry-live release ${NAME} empty\n`), {
    kind: 'release',
    name: NAME,
    mark: { kind: 'empty' },
  })
  for (const line of [
    '',
    'nothing',
    'gantry-live',
    'gantry-live what',
    'gantry-live broken so',
    'gantry-live release x empty',
  ])
    assert.equal(parseLive(line), undefined, line)
})

test('a mark names a run and a release, or it is malformed', () => {
  const markOf = (mark: string) => {
    const reading = parseLive(`gantry-live release ${NAME} ${mark}`)
    return reading?.kind === 'release' ? reading.mark : undefined
  }
  assert.deepEqual(markOf('run abc-12 none'), { kind: 'run', run: 'abc-12', before: null })
  assert.deepEqual(markOf(`run abc-12 ${NAME}`), { kind: 'run', run: 'abc-12', before: NAME })
  assert.deepEqual(markOf('run abc-12 2026'), { kind: 'malformed' })
  assert.deepEqual(markOf('run'), { kind: 'malformed' })
  assert.deepEqual(markOf('missing'), { kind: 'missing' })
})

test('people see everything but that line, however the output is cut', async () => {
  const output = `Live release: ${NAME}\ngantry-live release ${NAME} empty\nno newline at the end`
  for (const size of [1, 3, 7, output.length]) {
    const shown: Buffer[] = []
    const filter = withoutLiveLine((chunk) => void shown.push(chunk))
    for (let at = 0; at < output.length; at += size)
      await filter.onOutput(Buffer.from(output.slice(at, at + size)))
    await filter.end()
    assert.equal(Buffer.concat(shown).toString(), `Live release: ${NAME}\nno newline at the end`)
    assert.deepEqual(filter.reading(), { kind: 'release', name: NAME, mark: { kind: 'empty' } })
  }
})
