import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openKeyRing } from './key-ring.ts'
import { decodeKeys, encodeKeys, keyFile, loadMasterKeys, replaceKeyFile } from './master-key.ts'
import { createSecretBox, keyId, keyIdOf } from './secret-box.ts'

const AAD = 'hooks/1/secret'

async function emptyHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-ring-'))
  t.after(() => rm(home, { recursive: true }))
  return home
}

test('a running box seals with the new key as soon as the key file is replaced', async (t) => {
  const home = await emptyHome(t)
  const box = createSecretBox(await openKeyRing({ home }))
  const before = box.seal('secret', AAD)
  const [older] = await loadMasterKeys({ home })
  const newer = randomBytes(32)
  await replaceKeyFile(keyFile(home), [newer, older])
  assert.deepEqual(keyIdOf(box.seal('secret', AAD)), keyId(newer))
  assert.equal(box.open(before, AAD), 'secret', 'the old key still opens')
  await replaceKeyFile(keyFile(home), [newer])
  assert.equal(box.open(before, AAD), 'secret', 'a row that was read before the old key left')
  const started = createSecretBox(await openKeyRing({ home }))
  assert.throws(() => started.open(before, AAD), /a key that this process does not have/)
})

test('a value sealed with a newer key is opened', async (t) => {
  const home = await emptyHome(t)
  const box = createSecretBox(await openKeyRing({ home }))
  const [older] = await loadMasterKeys({ home })
  const newer = randomBytes(32)
  await replaceKeyFile(keyFile(home), [newer, older])
  assert.equal(box.open(createSecretBox([newer]).seal('secret', AAD), AAD), 'secret')
})

test('a missing or damaged key file removes no key from a running process', async (t) => {
  const home = await emptyHome(t)
  const box = createSecretBox(await openKeyRing({ home }))
  const sealed = box.seal('secret', AAD)
  await writeFile(keyFile(home), 'damaged')
  assert.equal(box.open(box.seal('other', AAD), AAD), 'other')
  await rm(keyFile(home))
  assert.equal(box.open(sealed, AAD), 'secret')
})

test('a replaced key file is private and complete', async (t) => {
  const home = await emptyHome(t)
  const [older] = await loadMasterKeys({ home })
  const newer = randomBytes(32)
  await replaceKeyFile(keyFile(home), [newer, older])
  assert.deepEqual(await loadMasterKeys({ home }), [newer, older])
  assert.equal((await stat(keyFile(home))).mode & 0o777, 0o600)
})

test('several keys are separated by commas or line breaks', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)]
  const texts = [
    encodeKeys([first, second]),
    `${first.toString('hex')},${second.toString('base64')}`,
    ` ${first.toString('hex')} , ${second.toString('hex')}\r\n`,
    `${first.toString('hex')}\r\n${second.toString('hex')}`,
  ]
  for (const text of texts) assert.deepEqual(decodeKeys(text), [first, second], text)
})

test('a list with an invalid key is rejected', () => {
  const key = randomBytes(32).toString('hex')
  for (const text of ['', ',', `${key},`, `,${key}`, `${key},${key.slice(1)}`, `${key} ${key}`]) {
    assert.equal(decodeKeys(text), undefined, text)
  }
})
