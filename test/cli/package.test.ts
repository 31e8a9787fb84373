// The package as people get it, and the command of a checkout that nobody has built yet.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { USERS_NODE } from '#test/support/cli.ts'
import { later } from '#test/support/later.ts'
import { npm, pack } from '#test/support/npm.ts'

const run = promisify(execFile)
const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const SOURCES = [
  ...['package.json', 'package-lock.json', 'scripts', 'client/package.json', 'client/src'],
  ...['cli/package.json', 'cli/rolldown.config.mjs', 'cli/bin', 'cli/src'],
]
const folder = await mkdtemp(join(tmpdir(), 'gantry-package-'))
later({ after }, () => rm(folder, { recursive: true, force: true }))

test('npm pack makes a package of built JavaScript that installs without a network and runs', async () => {
  const { tarball, files } = await pack('cli', folder)
  assert.deepEqual(files.toSorted(), [
    'README.md',
    'bin/gantry.mjs',
    'dist/LICENSE',
    'dist/gantry.mjs',
    'package.json',
  ])
  const prefix = join(folder, 'installed')
  await npm(['install', '--global', '--offline', '--no-audit', '--prefix', prefix, tarball], folder)
  const { stdout } = await run(USERS_NODE, [join(prefix, 'bin/gantry'), 'version'])
  assert.match(stdout, /^gantry \d+\.\d+\.\d+\n$/)
  const { stdout: help } = await run(USERS_NODE, [join(prefix, 'bin/gantry'), 'help'])
  assert.match(help, /Deploy with Gantry/)
})

test('in a checkout it is built when it is first run, and says what to do when that is impossible', async () => {
  const checkout = join(folder, 'checkout')
  for (const path of SOURCES) await cp(inProject(path), join(checkout, path), { recursive: true })
  const version = () =>
    run(USERS_NODE, [join(checkout, 'cli/bin/gantry.mjs'), 'version'], { env: { PATH: process.env.PATH } })
  const failure = await version().catch((error) => error)
  assert.equal(failure.code, 1)
  assert.match(failure.stderr, /gantry: The command line is not built\. Run `npm ci`/)
  for (const path of ['node_modules', 'cli/node_modules'])
    await symlink(inProject(path), join(checkout, path))
  assert.match((await version()).stdout, /^gantry \d/)
})
