import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { later } from '#test/support/later.ts'
import { makeRepository } from '#test/support/repository.ts'
import { commandLines, cutFile, eventually, openRepositories, temporaryFolder } from './fixtures.ts'
import { serveGit } from './test-git-server.ts'

const ELSEWHERE = fileURLToPath(new URL('./test-resolve-elsewhere.ts', import.meta.url))

const damages: [string, (mirror: string) => Promise<void>][] = [
  ['without HEAD', (mirror) => rm(join(mirror, 'HEAD'))],
  ['without objects', (mirror) => rm(join(mirror, 'objects'), { recursive: true })],
  ['with an empty folder of objects', (mirror) => emptied(join(mirror, 'objects'))],
  ['with cut packs', cutPacks],
  ['with a lock that somebody left', (mirror) => writeFile(join(mirror, 'packed-refs.lock'), '')],
  ['with settings that cannot be read', (mirror) => writeFile(join(mirror, 'config'), '[[[')],
  ['of which nothing is left', (mirror) => emptied(mirror)],
]

for (const [what, damage] of damages) {
  test(`a mirror ${what} is recreated`, async (t) => {
    const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
    const gantry = await openRepositories(t)
    await gantry.hashOf({ repository: repository.address })
    await damage(join(gantry.folder, '1', 'mirror.git'))
    // A branch that goes makes git write where the lock is.
    const hash = await repository.commit({ 'a.txt': 'b' }, { branch: 'next' })
    await repository.removeBranch('main')
    const source = { type: 'branch' as const, ref: 'next' }
    assert.equal(await gantry.hashOf({ repository: repository.address, source }), hash)
    assert.equal(await gantry.hashOf({ repository: repository.address, source }), hash)
    assert.deepEqual(await readdir(join(gantry.folder, '1')), ['mirror.git'])
  })
}

test('a mirror whose remote is as before, but whose commits are gone, is recreated', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const gantry = await openRepositories(t)
  const hash = await gantry.hashOf({ repository: repository.address })
  await emptied(join(gantry.folder, '1', 'mirror.git', 'objects', 'pack'))
  assert.equal(await gantry.hashOf({ repository: repository.address }), hash)
})

test('leftovers of a killed process are removed', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const gantry = await openRepositories(t)
  for (const name of ['draft-abcdef', 'discarded-abcdef']) {
    await mkdir(join(gantry.folder, '1', name, 'objects'), { recursive: true })
  }
  assert.match(await gantry.hashOf({ repository: repository.address }), /^[0-9a-f]{40}$/)
  assert.deepEqual(await readdir(join(gantry.folder, '1')), ['mirror.git'])
})

test('requests for one application take turns, those for others do not wait', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const gantry = await openRepositories(t)
  const hash = await repository.git(['rev-parse', 'main'])
  const requests = [1, 1, 1, 1, 2, 3].map((applicationId) =>
    gantry.hashOf({ repository: repository.address, applicationId }),
  )
  assert.deepEqual(await Promise.all(requests), Array(6).fill(hash))
})

test('a process that is killed while it fetches delays nobody, and its git ends', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const hash = await repository.git(['rev-parse', 'main'])
  let hold = true
  const held = Promise.withResolvers<void>()
  const server = await serveGit(t, {
    folder: join(repository.folder, '..'),
    before: (request) => {
      if (!hold || request.method !== 'POST') return false
      held.resolve()
      return true
    },
  })
  const address = `${server.url}/shop.git`
  const gantry = await openRepositories(t)
  const other = spawn(process.execPath, [ELSEWHERE, gantry.folder, address, '1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(other, 'close')
  later(t, () => other.kill('SIGKILL'))
  await held.promise
  const impatient = await openRepositories(t, { folder: gantry.folder, timeouts: { totalMs: 300 } })
  const before = server.requests.length
  assert.match(await impatient.hashOf({ repository: address }), /^FAILED .* took longer than/)
  assert.equal(server.requests.length, before)
  const waiting = gantry.hashOf({ repository: address })
  hold = false
  other.kill('SIGKILL')
  await ended
  assert.equal(await waiting, hash)
  await eventually('git of the killed process ends', async () =>
    (await commandLines()).every((line) => !line.includes(address)),
  )
})

test('a folder that cannot be used is reported without its name', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const home = await temporaryFolder(t)
  await writeFile(join(home, 'file'), '')
  const folder = join(home, 'file', 'mirrors')
  const gantry = await openRepositories(t, { folder })
  const said = await gantry.hashOf({ repository: repository.address })
  assert.equal(said, 'FAILED The mirrors folder is not usable (ENOTDIR).')
})

test('a machine without git is reported', async (t) => {
  const home = await temporaryFolder(t)
  const child = spawn(process.execPath, [ELSEWHERE, home, 'file:///nowhere.git', '1000'], {
    env: { PATH: '/nonexistent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said = (await child.stdout.setEncoding('utf8').toArray()).join('')
  assert.deepEqual(JSON.parse(said), {
    kind: 'failed',
    message: 'git is not installed on the machine that runs Gantry.',
    temporary: false,
  })
})

test('a full hash is taken from the mirror while the repository cannot be reached', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const server = await serveGit(t, {
    folder: join(repository.folder, '..'),
    before: (_request, response) => {
      if (existsSync(repository.folder)) return false
      response.writeHead(503).end()
      return true
    },
  })
  const address = `${server.url}/shop.git`
  const gantry = await openRepositories(t)
  const hash = await gantry.hashOf({ repository: address })
  await rename(repository.folder, `${repository.folder}.away`)
  const source = { type: 'commit' as const, ref: hash }
  assert.equal(await gantry.hashOf({ repository: address, source }), hash)
  assert.match(
    gantry.lines.at(-1)!,
    /^127\.0\.0\.1 is unavailable right now\. Using the commit from the mirror/,
  )
  const said = 'FAILED 127.0.0.1 is unavailable right now.'
  assert.equal(await gantry.hashOf({ repository: address }), said)
  assert.equal(
    await gantry.hashOf({ repository: address, source: { type: 'commit', ref: hash.slice(0, 12) } }),
    said,
  )
  assert.equal(
    await gantry.hashOf({ repository: address, source: { type: 'commit', ref: 'f'.repeat(40) } }),
    said,
  )
  const before = server.requests.length
  assert.equal(await gantry.hashOf({ repository: address, source, resolvedBefore: true }), hash)
  assert.equal(server.requests.length, before)
})

async function emptied(folder: string): Promise<void> {
  await rm(folder, { recursive: true })
  await mkdir(folder)
}

async function cutPacks(mirror: string): Promise<void> {
  const folder = join(mirror, 'objects', 'pack')
  for (const name of await readdir(folder)) await cutFile(join(folder, name), 20)
}
