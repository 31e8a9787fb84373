import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeBaseUrl, judgeDisk, judgePages } from './machine-checks.ts'
import { ok, runChecks } from './run-checks.ts'

test('a check that hangs or breaks has failed, says nothing of the error, and the others still answer', async () => {
  const errors: string[] = []
  const results = await runChecks(
    [
      { name: 'hangs', run: () => new Promise(() => {}) },
      { name: 'breaks', run: async () => Promise.reject(new Error('password=secret')) },
      { name: 'answers', run: async () => ok('Fine.') },
    ],
    { withinMs: 30, onError: (name) => errors.push(name) },
  )
  assert.deepEqual(
    results.map(({ name, status, remedy }) => [name, status, remedy !== null]),
    [
      ['hangs', 'failed', true],
      ['breaks', 'failed', true],
      ['answers', 'ok', false],
    ],
  )
  assert.deepEqual(errors, ['breaks'])
  assert.doesNotMatch(JSON.stringify(results), /secret/)
})

test('a disk is judged by what is left, and by its share on a large one', () => {
  const gib = 1024 ** 3
  const status = (free: number, total: number, isEmbedded = true) =>
    judgeDisk(free * gib, total * gib, isEmbedded).status
  assert.deepEqual(
    [status(50, 100), status(1, 5), status(1, 100), status(0.2, 1), status(3, 1_000)],
    ['ok', 'ok', 'warning', 'failed', 'ok'],
  )
  // An embedded database needs space to write.
  assert.deepEqual([status(0.9, 5), status(0.9, 5, false), status(0.2, 5, false)], ['failed', 'ok', 'failed'])
})

test('a base URL that others cannot reach, or that is not encrypted, is reported', () => {
  const judged = {
    'http://127.0.0.1:7070': 'warning',
    'http://[::1]:7070': 'warning',
    'http://10.0.0.7:7070': 'warning',
    'https://gantry.internal': 'warning',
    'http://gantry.example.com': 'warning',
    'https://gantry.example.com': 'ok',
  }
  for (const [url, status] of Object.entries(judged)) assert.equal(judgeBaseUrl(url).status, status, url)
  assert.match(judgeBaseUrl('http://127.0.0.1:7070').remedy!, /GANTRY_URL/)
})

test('pages that are missing, or of another version, are reported', () => {
  assert.deepEqual(
    [null, '0.1.0', '0.2.0'].map((built) => judgePages(built, '0.2.0').status),
    ['warning', 'warning', 'ok'],
  )
})
