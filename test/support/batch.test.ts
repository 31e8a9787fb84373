import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'

function batchesOf(t: TestContext, ...patterns: string[]): string[] {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/test-batches.mjs', ...patterns], {
    encoding: 'utf8',
  })
  assert.equal(status, 0)
  const batches = stdout.trim().split('\n')
  t.after(() => rm(dirname(batches[0]!), { recursive: true, force: true }))
  return batches
}

test('every test file is in exactly one batch', async (t) => {
  const patterns = [
    'server/**/*.test.ts',
    'test/{api,runs,support}/**/*.test.ts',
    'test/cli/main-path.test.ts',
  ]
  const sources = await Promise.all(batchesOf(t, ...patterns).map((path) => readFile(path, 'utf8')))
  const files = sources.flatMap((source) => JSON.parse(/\[.*\]/.exec(source)![0]) as string[])
  assert.deepEqual(files.sort(), globSync(patterns).sort())
  assert.ok(sources.length < files.length / 4)
})

test('a file that cannot be loaded or leaves traces fails; what each opened is closed before the next', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-batch-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = (name: string, lines: string) =>
    writeFile(join(folder, `${name}.mjs`), `import { after, test } from 'node:test'\n${lines}`)
  await write('a', "after(() => console.log('a is closed'))\ntest('in a', () => {})")
  await write('b', "console.log('b begins')\nthrow new Error('b cannot be loaded')")
  await write('c', "test('in c', () => { process.env.TRACE = 'of c' })")
  await write('d', "test('in d', () => { throw new Error('d fails') })")
  const [batch, ...more] = batchesOf(t, join(folder, '*.mjs'))
  assert.deepEqual(more, [])
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout, status } = spawnSync(process.execPath, ['--test-reporter=tap', batch!], {
    encoding: 'utf8',
    env,
  })
  assert.equal(status, 1)
  assert.deepEqual(stdout.match(/^\w (is closed|begins)$/gm), ['a is closed', 'b begins'])
  const results = stdout.replaceAll(`${folder}/`, '').match(/^(not ok|ok) \d+ - \S+ \S+/gm)
  assert.deepEqual(results, [
    'ok 1 - in a',
    'ok 2 - a.mjs ran',
    'not ok 3 - b.mjs ran',
    'ok 4 - in c',
    'not ok 5 - c.mjs ran',
    'not ok 6 - in d',
    'ok 7 - d.mjs ran',
  ])
})
