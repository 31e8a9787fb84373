import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const FILE = `
import { after, before, suite, test } from 'node:test'
import { createServer, connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'

const forever = () => new Promise(() => {})
const fail = (where) => () => { throw new Error('thrown ' + where) }

suite('of a suite', async () => {
  await turn()
  before(() => console.log('before the suite'))
  after(() => console.log('after the suite'))
  test('in it', () => console.log('in the suite'))
})
test('with more', async (t) => {
  await turn()
  after(() => console.log('after the test'))
  await t.test('inside', async () => {
    await turn()
    test('further inside', () => console.log('further inside'))
  })
})
test('in a timer', async () => { setTimeout(fail('in a timer'), 1); await forever() })
test('in a promise', async () => { turn().then(fail('in a promise')); await forever() })
test('in a tick', async () => { await turn(); process.nextTick(fail('in a tick')); await forever() })
test('of a socket', async (t) => {
  const server = createServer(fail('of a socket'))
  server.listen(0, () => connect(server.address().port).on('error', () => {}).unref())
  server.unref()
  await forever()
})
test('passes', () => console.log('still awake'))
`

test('tests nest, clean up after themselves and fail for what they left running, as they do with the hook of Node', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-context-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'one.mjs')
  await writeFile(file, `${HOOKS}${FILE}`)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const [withHook, without] = [[], ['--import=./test/support/test-context.ts']].map((more) => {
    const args = [...more, '--test-force-exit', '--test-reporter=tap', file]
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    const lines = stdout.match(
      /^ *(((not )?ok|#) .*|error: .*|(before|after|in the|further|still|follows) .*)$/gm,
    )
    return { status, lines: lines!.filter((line) => !/duration_ms/.test(line)) }
  })
  assert.equal(withHook!.status, 1)
  assert.match(withHook!.lines.join('\n'), /not ok \d - of a socket\n *error: 'thrown of a socket'/)
  assert.ok(withHook!.lines.includes('follows promises'))
  assert.deepEqual(
    without!.lines.filter((line) => line !== 'follows nothing'),
    withHook!.lines.filter((line) => line !== 'follows promises'),
  )
  assert.ok(without!.lines.includes('follows nothing'))
})

/** A promise has an id only while a hook follows it. */
const HOOKS = `
import { executionAsyncId } from 'node:async_hooks'
import { test as measured } from 'node:test'
measured('is followed', async () => {
  await Promise.resolve()
  const first = executionAsyncId()
  await Promise.resolve()
  console.log(first === executionAsyncId() ? 'follows nothing' : 'follows promises')
})
`
