import assert from 'node:assert/strict'
import { lchown, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { chooseLocalAccount, findLocalAccount, makeFolderOf, parsePasswd } from './local-account.ts'

const asRoot = process.getuid!() === 0

test('invalid lines of /etc/passwd are ignored', () => {
  const text =
    'root:x:0:0:root:/root:/bin/bash\n+::::::\nbad:x:one:1::/:/bin/sh\n\ngantry:x:998:997::/var/lib/gantry:'
  assert.deepEqual(parsePasswd(text), [
    { name: 'root', uid: 0, gid: 0, home: '/root' },
    { name: 'gantry', uid: 998, gid: 997, home: '/var/lib/gantry' },
  ])
})

const underRoot = asRoot ? test : () => {}
const asOrdinaryUser = asRoot ? () => {} : test

underRoot('under root commands get an account that is neither root nor the excluded one', async () => {
  const first = await chooseLocalAccount(null)
  assert.ok('uid' in first && first.uid !== 0)
  const second = await chooseLocalAccount(first.uid)
  assert.ok('kind' in second || (second.uid !== 0 && second.uid !== first.uid))
})

asOrdinaryUser('an ordinary user is the only account there is', async () => {
  const account = await chooseLocalAccount(process.getuid!())
  assert.ok('uid' in account && account.uid === process.getuid!())
  assert.deepEqual(await findLocalAccount(account.name), account)
  assert.equal('kind' in (await findLocalAccount('root')), true)
})

test('a folder that is created for an account belongs to it', async (t) => {
  const account = await chosen()
  const path = join(await temporaryFolder(t), 'a', 'b')
  assert.equal(await makeFolderOf(account, path), true)
  const { uid, mode } = await stat(path)
  assert.deepEqual([uid, mode & 0o777], [account.uid, 0o755])
})

test('an existing folder does not change owners, and neither does what a link points to', async (t) => {
  const account = await chosen()
  const folder = await temporaryFolder(t)
  const precious = join(folder, 'precious')
  await mkdir(precious, { mode: 0o700 })
  await symlink(precious, join(folder, 'link'))
  for (const path of [precious, join(folder, 'link')]) {
    assert.equal(await makeFolderOf(account, path), false)
    const { uid, mode } = await stat(precious)
    assert.deepEqual([uid, mode & 0o777], [process.getuid!(), 0o700])
  }
})

underRoot('no folder is created where a link of another account leads', async (t) => {
  const account = await chosen()
  const folder = await temporaryFolder(t)
  const [system, own] = [join(folder, 'system'), join(folder, 'own')]
  await mkdir(system)
  await symlink(system, own)
  assert.equal(await makeFolderOf(account, join(own, 'by-root')), true, 'links of root are followed')
  await lchown(own, account.uid, account.gid)
  assert.equal(await makeFolderOf(account, join(own, 'by-account')), false)
  assert.deepEqual(await readdir(system), ['by-root'])
})

async function chosen() {
  const account = await chooseLocalAccount(null)
  assert.ok('uid' in account)
  return account
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-account-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}
