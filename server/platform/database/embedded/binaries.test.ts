import assert from 'node:assert/strict'
import { chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { provideBinaries } from './binaries.ts'
import { gantryProcess, ordinaryUser, temporaryFolder, testAsRoot } from './fixtures.ts'
import { ownFolder } from './folders.ts'

test('an incomplete copy of the binaries is replaced', async (t) => {
  const home = await temporaryFolder(t, ordinaryUser)
  const version = basename(dirname(dirname((await provideBinaries(home)).postgres)))
  const damaged = join(home, 'cache', version, 'bin')
  const abandoned = join(home, 'cache', `${version}.part-abc`)
  await mkdir(damaged, { recursive: true })
  await mkdir(abandoned)
  await writeFile(join(damaged, 'postgres'), '')
  for (const path of ['cache', `cache/${version}`, `cache/${version}/bin`, `cache/${version}.part-abc`]) {
    await chown(join(home, path), ordinaryUser.uid, ordinaryUser.gid)
  }
  await gantryProcess(t, home, ordinaryUser)
  assert.ok((await stat(join(damaged, 'postgres'))).size > 1_000_000)
  // The other partial copy may belong to a running process: it stays until it is old.
  assert.deepEqual((await readdir(join(home, 'cache'))).sort(), [version, `${version}.part-abc`])
})

testAsRoot('a folder in a shared directory that belongs to another account is not used', async (t) => {
  const folder = await temporaryFolder(t, ordinaryUser)
  await assert.rejects(ownFolder(folder, 0o700), /belongs to another account/)
})
