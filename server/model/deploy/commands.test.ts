import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { applicationCommand } from './commands.ts'
import { run, temporaryFolder } from './fixtures.ts'

test('an application without a command has nothing to do, and the log says so', () => {
  for (const command of [null, '', ' \n']) {
    const own = applicationCommand('build-application', command)
    assert.deepEqual(own, { kind: 'nothing', line: 'This application has no build command: nothing to do.' })
  }
  assert.match(
    JSON.stringify(applicationCommand('install-dependencies', null)),
    /no install command: nothing to do/,
  )
})

test('a command of several lines ends at the first line that fails', async (t) => {
  const folder = await temporaryFolder(t)
  const own = applicationCommand('build-application', '# build\ncd "$FOLDER"\n: > made\nfalse\n: > too-far\n')
  assert.ok(own.kind === 'command')
  const { code } = await run({ command: own.command, environment: { FOLDER: folder } })
  assert.equal(code, 1)
  assert.deepEqual(await readdir(folder), ['made'])
})
