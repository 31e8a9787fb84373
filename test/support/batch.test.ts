import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'

function batchesOf(t: TestContext, ...patterns: string[]): { runners: string[]; queue: string } {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/test-batches.mjs', ...patterns], {
    encoding: 'utf8',
  })
  assert.equal(status, 0)
  const runners = stdout.trim().split('\n')
  const folder = dirname(runners[0]!)
  t.after(() => rm(folder, { recursive: true, force: true }))
  return { runners, queue: join(folder, 'queue') }
}

test('every test file is in the queue once, the longest first', async (t) => {
  const patterns = [
    'server/**/*.test.ts',
    'test/{api,runs,support}/**/*.test.ts',
    'test/cli/main-path.test.ts',
  ]
  const { queue } = batchesOf(t, ...patterns)
  const entries = (await readdir(queue)).sort()
  const files = await Promise.all(entries.map((entry) => readFile(join(queue, entry), 'utf8')))
  assert.deepEqual(files.toSorted(), globSync(patterns).sort())
  assert.deepEqual(
    files
      .map((file) => file.split('/').slice(0, 2).join('/'))
      .filter((folder, at, all) => folder !== all[at - 1])
      .slice(0, 5),
    ['test/cli', 'server/adapters', 'server/model', 'test/runs', 'test/api'],
  )
})

test('the processes share the files of a queue, and leave nothing behind', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-batch-'))
  t.after(() => rm(folder, { recursive: true }))
  const names = Array.from({ length: 20 }, (_, index) => `${index}.mjs`)
  for (const name of names)
    await writeFile(join(folder, name), "import { test } from 'node:test'\ntest('passes', () => {})\n")
  const { runners, queue } = batchesOf(t, join(folder, '*.mjs'))
  const outputs = await Promise.all(runners.map((runner) => outputOf(runner)))
  const ran = outputs.flatMap(({ stdout }) => [...stdout.matchAll(/^ok \d+ - .*\/(\d+\.mjs) ran/gm)])
  assert.deepEqual(ran.map(([, name]) => name).sort(), names.sort())
  await assert.rejects(access(dirname(queue)), { code: 'ENOENT' })
})

test('a process that has become large leaves the rest to those that follow', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-batch-'))
  t.after(() => rm(folder, { recursive: true }))
  const sources = { a: 'globalThis.kept = Buffer.alloc(7e8, 1)', b: '' }
  for (const [name, source] of Object.entries(sources))
    await writeFile(join(folder, `${name}.mjs`), source.padEnd(50))
  const { runners } = batchesOf(t, join(folder, '*.mjs'))
  const ranIn = async (runner: string) =>
    (await outputOf(runner)).stdout.match(/(?<=^ok \d+ - .*\/)\w(?=\.mjs ran)/gm)
  assert.deepEqual(await ranIn(runners[0]!), ['a'])
  assert.deepEqual(await ranIn(runners[1]!), ['b'])
})

test('a file that cannot be loaded or leaves traces fails; what each opened is closed before the next', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-batch-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = (name: string, lines: string) => {
    const source = `import { after, test } from 'node:test'\n${lines}`
    // Of equal size, they run in the order of their names.
    return writeFile(join(folder, `${name}.mjs`), source.padEnd(200))
  }
  await write('a', "after(() => console.log('a is closed'))\ntest('in a', () => {})")
  await write('b', "console.log('b begins')\nthrow new Error('b cannot be loaded')")
  await write('c', "test('in c', () => { process.env.TRACE = 'of c' })")
  await write('d', "test('in d', () => { throw new Error('d fails') })")
  const { stdout, status } = await outputOf(batchesOf(t, join(folder, '*.mjs')).runners[0]!)
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

/** What one process prints of the files that it takes. */
async function outputOf(runner: string): Promise<{ stdout: string; status: number | null }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, ['--test-reporter=tap', runner], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { stdout, status: child.exitCode }
}
