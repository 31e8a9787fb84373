// The bash of the project is in .sh files, which shellcheck reads as `.shellcheckrc` says.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')

test('shellcheck finds nothing in the scripts', async () => {
  const exclude = ['**/node_modules', '**/dist']
  const scripts = await Array.fromAsync(glob('**/*.sh', { cwd: root, exclude }))
  assert.ok(scripts.includes('server/model/deploy/lock.sh'), scripts.join())
  const { stdout, stderr, status } = spawnSync('shellcheck', scripts, { cwd: root, encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}${stderr}`)
})
