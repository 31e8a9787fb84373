// Bundles the command line into one file that runs on Node 20 and later, if its sources have changed since the last build.
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fingerprint, installedNode, isBuilt, root } from './built.mjs'

const dist = join(root, 'cli', 'dist')
const stamp = join(dist, '.built')
const expected = fingerprint(['cli/src', 'cli/package.json', 'client/src', 'scripts/build-cli.mjs'])

if (!isBuilt(stamp, expected)) build()

function build() {
  const fresh = join(root, 'cli', `.dist-${process.pid}.mjs`)
  const rolldown = join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs')
  const args = ['-c', join(root, 'cli', 'rolldown.config.mjs'), '-o', fresh]
  const { status } = spawnSync(installedNode(), [rolldown, ...args], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) {
    rmSync(fresh, { force: true })
    console.error('gantry: failed to build the command line; see above. Everything else works without it.')
    return
  }
  mkdirSync(dist, { recursive: true })
  renameSync(fresh, join(dist, 'gantry.mjs'))
  writeFileSync(stamp, expected)
}
