import assert from 'node:assert/strict'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkAppEnvironment } from './commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  deploy,
  makeBase,
  release,
  run,
  temporaryFolder,
  treeOf,
} from './fixtures.ts'
import { baseFolder, type DeployCommand } from './layout.ts'

const NOBODY = 65_534

async function failureOf(command: DeployCommand, uid?: number): Promise<string> {
  const { code, output } = await run(command, { uid })
  assert.equal(code, 1, output)
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith('gantry-live '))
  assert.equal(lines.length, 1, output)
  return lines[0]!
}

test('the folders of an application are created, and the check leaves nothing else behind', async (t) => {
  const base = baseFolder(join(await temporaryFolder(t), 'a', 'b'), 'shop')
  const output = await demand(checkAppEnvironment(base))
  assert.deepEqual(await treeOf(base), {
    '.gantry/activated': '/',
    '.gantry/lock': '',
    releases: '/',
    shared: '/',
  })
  assert.match(
    output,
    /^Server .+, account .+, folder .+\nFree disk space: \d+ MiB\nLive release: none yet\ngantry-live nothing\n$/,
  )
  const again = await demand(checkAppEnvironment(base))
  assert.equal(again.replace(/\d+ MiB/, ''), output.replace(/\d+ MiB/, ''))
})

test('the check reports which release is live', async (t) => {
  const base = await makeBase(t)
  await deploy(base, { who: attempt('a'), name: release(1), archive: await archiveOf(t, { file: '1' }) })
  assert.match(await demand(checkAppEnvironment(base)), new RegExp(`\nLive release: ${release(1)}\n`))
})

test('a disk with too little space is rejected with a line that says how much is free', async (t) => {
  const base = baseFolder(await temporaryFolder(t), 'shop')
  const { code, output } = await run(checkAppEnvironment(base, { minFreeMiB: 10 ** 12 }))
  assert.equal(code, 1)
  assert.match(
    output,
    /\nOnly \d+ MiB are free in .+, at least 1000000000000 MiB are needed: free some space, /,
  )
})

test('a root folder that is not writable is rejected, naming the account', async (t) => {
  const root = await temporaryFolder(t)
  await chmod(root, 0o555)
  const uid = process.getuid!() === 0 ? NOBODY : undefined
  const failure = await failureOf(checkAppEnvironment(baseFolder(root, 'shop')), uid)
  assert.match(
    failure,
    /^The account \S+ cannot create the folder \S+shop \(Permission denied\): give it write access/,
  )
  await chmod(root, 0o755)
})

test('a folder of the application that belongs to another account is rejected', async (t) => {
  const root = await temporaryFolder(t)
  const base = baseFolder(root, 'shop')
  await demand(checkAppEnvironment(base))
  await chmod(join(base, 'shared'), 0o555)
  const uid = process.getuid!() === 0 ? NOBODY : undefined
  const failure = await failureOf(checkAppEnvironment(base), uid)
  assert.match(failure, /^The account \S+ cannot write to \S+: give it write access there/)
})

test('a root folder where no folder can be created is rejected', async () => {
  const failure = await failureOf(checkAppEnvironment(baseFolder('/proc', 'shop')))
  assert.match(
    failure,
    /cannot create the folder \/proc\/shop \(.+\): give it write access there, or set another root/,
  )
})

test('a file at the location of a folder is rejected, and so is a link', async (t) => {
  const base = baseFolder(await temporaryFolder(t), 'shop')
  await mkdir(base)
  await writeFile(join(base, 'releases'), '')
  assert.match(
    await failureOf(checkAppEnvironment(base)),
    /releases is in the way of a folder of that name: move it/,
  )
  await rm(join(base, 'releases'))
  await symlink('/tmp', join(base, 'releases'))
  assert.match(
    await failureOf(checkAppEnvironment(base)),
    /releases is a link and must be a folder: replace it/,
  )
})

test('a folder named current is rejected before anything is built', async (t) => {
  const base = baseFolder(await temporaryFolder(t), 'shop')
  await mkdir(join(base, 'current'), { recursive: true })
  assert.match(
    await failureOf(checkAppEnvironment(base)),
    /current must be a link .+ move it, then deploy again/,
  )
})

test('a server without a required program is rejected, naming the package', async (t) => {
  const root = await temporaryFolder(t)
  const bin = join(root, 'bin')
  await mkdir(bin)
  for (const program of ['id', 'mkdir', 'mv', 'cp', 'df', 'tar'])
    await symlink(`/bin/${program}`, join(bin, program))
  const { command, environment } = checkAppEnvironment(baseFolder(root, 'shop'))
  const failure = await failureOf({ command, environment: { ...environment, PATH: bin } })
  assert.match(failure, /^flock is not installed on .+: install the package util-linux, then deploy again\.$/)
})
