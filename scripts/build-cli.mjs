// Bundles the command line into one file that runs on Node 20 and later, if its sources have changed since the last build.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fingerprint, installedNode, isBuilt, root } from './built.mjs'

const dist = join(root, 'cli', 'dist')
const stamp = join(dist, '.built')
const SOURCES = [
  'cli/src',
  'cli/package.json',
  'cli/rolldown.config.mjs',
  'client/src',
  'scripts/build-cli.mjs',
]
const expected = fingerprint(SOURCES)

if (!isBuilt(stamp, expected) && !build()) {
  console.error('gantry: failed to build the command line; see above. Everything else works without it.')
  // A package without it, or with an old one, is worse than none.
  if (process.env.npm_lifecycle_event === 'prepack') process.exitCode = 1
}

function build() {
  const program = join(root, 'cli', `.dist-${process.pid}.cjs`)
  const fresh = join(root, 'cli', `.dist-${process.pid}.mjs`)
  try {
    if (!runRolldown(program)) return false
    writeFileSync(fresh, wrap(readFileSync(program, 'utf8')), { mode: 0o755 })
    mkdirSync(dist, { recursive: true })
    renameSync(fresh, join(dist, 'gantry.mjs'))
    writeFileSync(stamp, expected)
    return true
  } catch (error) {
    console.error(`gantry: ${error.message}`)
    return false
  } finally {
    for (const path of [program, fresh]) rmSync(path, { force: true })
  }
}

function runRolldown(output) {
  const rolldown = join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs')
  const args = [rolldown, '-c', join(root, 'cli', 'rolldown.config.mjs'), '-o', output]
  return spawnSync(installedNode(), args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

/**
 * Scripts and prompts ask for the version often. As text, the program is not even parsed for that: Node starts half as
 * quickly with all of it as code.
 */
function wrap(program) {
  const { version } = JSON.parse(readFileSync(join(root, 'cli', 'package.json'), 'utf8'))
  return `#!/usr/bin/env node
import { createRequire } from 'node:module'
const [argument, ...others] = process.argv.slice(2)
if (others.length === 0 && ['version', '--version', '-V'].includes(argument)) {
  process.stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 0 : 1))
  process.stdout.write('gantry ${version}\\n')
} else {
  const require = createRequire(import.meta.url)
  const module = { exports: {} }
  const program = require('node:vm').compileFunction(text(), ['require', 'module', 'exports'], { filename: 'gantry' })
  program(require, module, module.exports)
  process.exitCode = await module.exports.start(process.argv)
}
function text() { return ${JSON.stringify(program)} }
`
}
