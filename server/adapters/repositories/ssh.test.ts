import assert from 'node:assert/strict'
import { readdir, readFile, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { makeRepository } from '#test/support/repository.ts'
import { type Access, prepareAccess } from './access.ts'
import { readAddress } from './address.ts'
import { openRepositories, temporaryFolder } from './fixtures.ts'
import { startSshHost } from './test-ssh-host.ts'

type Closer = Parameters<typeof makeRepository>[0]

const PATIENCE = { connectMs: 1_000, idleMs: 1_000, totalMs: 1_000 }

async function shop(t: Closer) {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const host = await startSshHost(t)
  const hash = await repository.git(['rev-parse', 'main'])
  return { hash, host, address: `${host.url}${repository.folder}`, folder: repository.folder }
}

test('a key opens a repository over ssh, from a home with any name, and no key file stays', async (t) => {
  const { hash, host, address } = await shop(t)
  const folder = join(await temporaryFolder(t), `Zoë's 100% "home"\\ $(x)`, 'mirrors')
  const gantry = await openRepositories(t, { folder })
  const sshKey = host.privateKey.trim().replaceAll('\n', '\r\n')
  assert.equal(await gantry.hashOf({ repository: address, sshKey }), hash)
  assert.equal(await gantry.hashOf({ repository: address, sshKey }), hash)
  assert.deepEqual((await readdir(join(folder, '1'))).sort(), ['known-hosts', 'mirror.git'])
  assert.match(await readFile(join(folder, '1', 'known-hosts'), 'utf8'), /ssh-ed25519/)
  assert.deepEqual(await keyFilesWith(host.privateKey), [])
})

test('another key, none, and what is no key are rejected with a reason', async (t) => {
  const { host, address } = await shop(t)
  const other = await startSshHost(t)
  const gantry = await openRepositories(t)
  const said = (sshKey: string | null) => gantry.hashOf({ repository: address, sshKey })
  assert.equal(
    await said(other.privateKey),
    'FAILED 127.0.0.1 does not accept the SSH key of this application.',
  )
  assert.equal(await said(null), 'FAILED 127.0.0.1 requires an SSH key, and this application has none.')
  assert.match(await said('no key at all'), /^FAILED The SSH key of the credential cannot be read/)
  assert.match(
    await gantry.hashOf({ repository: `${host.url}/nowhere.git`, sshKey: host.privateKey }),
    /^NOT-FOUND/,
  )
  assert.deepEqual(await keyFilesWith(other.privateKey), [])
})

test('a host with another key than at first contact receives nothing and delivers nothing', async (t) => {
  const { hash, host, address } = await shop(t)
  const gantry = await openRepositories(t)
  const request = { repository: address, sshKey: host.privateKey }
  assert.equal(await gantry.hashOf(request), hash)
  await host.restartAsAnother()
  assert.match(await gantry.hashOf(request), /^FAILED The host key of 127\.0\.0\.1 has changed/)
})

test('ssh connects to the address that was checked, and knows the host by its name', async (t) => {
  const { hash, host, folder } = await shop(t)
  const gantry = await openRepositories(t, { verdict: () => ({ kind: 'allowed', addresses: ['127.0.0.1'] }) })
  const repository = `${host.url.replace('127.0.0.1', 'git.invalid')}${folder}`
  assert.equal(await gantry.hashOf({ repository, sshKey: host.privateKey }), hash)
  assert.match(await readFile(join(gantry.folder, '1', 'known-hosts'), 'utf8'), /^git\.invalid ssh-/m)
})

test('a host that does not accept connections is a temporary failure', async (t) => {
  const gantry = await openRepositories(t)
  assert.deepEqual(await gantry.take({ repository: 'ssh://git@127.0.0.1:1/a/b', sshKey: null }), {
    kind: 'failed',
    message: '127.0.0.1 does not accept connections.',
    temporary: true,
  })
})

test('the key is in a file that only this account can read, and is gone when it is released', async () => {
  const request = {
    remote: remoteOf('git@h.example:a/b'),
    token: null,
    addresses: [],
    knownHosts: '/known',
    timeouts: PATIENCE,
  }
  const access = await prepareAccess({ ...request, sshKey: 'the key' })
  assert.doesNotMatch(JSON.stringify(access.environment), /the key/)
  const file = keyFileOf(access)
  assert.equal(await readFile(file, 'utf8'), 'the key\n')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(dirname(file))).mode & 0o777, 0o700)
  await access.disposeAsync()
  await assert.rejects(stat(dirname(file)), { code: 'ENOENT' })
})

test('a key that a killed process left is removed a day later, one in use is not', async () => {
  const request = { remote: remoteOf('git@h.example:a/b'), token: null, addresses: [], knownHosts: '/known' }
  const take = () => prepareAccess({ ...request, timeouts: PATIENCE, sshKey: 'the key' })
  const [left, used] = [await take(), await take()]
  const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1_000)
  await utimes(dirname(keyFileOf(left)), yesterday, yesterday)
  const next = await take()
  await assert.rejects(stat(keyFileOf(left)), { code: 'ENOENT' })
  assert.equal(await readFile(keyFileOf(used), 'utf8'), 'the key\n')
  await Promise.all([used.disposeAsync(), next.disposeAsync()])
})

function remoteOf(address: string) {
  const read = readAddress(address)
  return read.kind === 'remote' ? read.remote : assert.fail(read.message)
}

function keyFileOf(access: Access): string {
  return /IdentityFile="([^"]+)"/.exec(access.environment.GIT_SSH_COMMAND!)![1]!
}

async function keyFilesWith(key: string): Promise<string[]> {
  const found: string[] = []
  for (const folder of ['/dev/shm', '/tmp']) {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('gantry-key-'))
    for (const name of names) {
      const text = await readFile(join(folder, name, 'key'), 'utf8').catch(() => '')
      if (text.includes(key.trim())) found.push(name)
    }
  }
  return found
}
