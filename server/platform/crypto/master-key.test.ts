import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { decodeKey, loadMasterKeys } from './master-key.ts'

const loadMasterKey = async (source: Parameters<typeof loadMasterKeys>[0]) =>
  (await loadMasterKeys(source))[0]

async function emptyHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-key-'))
  t.after(() => rm(home, { recursive: true }))
  return home
}

test('the first start creates a key that only its owner can read, and the next one uses it', async (t) => {
  const home = join(await emptyHome(t), 'not', 'there', 'yet')
  const key = await loadMasterKey({ home })
  assert.equal(key.length, 32)
  assert.deepEqual(await loadMasterKey({ home }), key)
  assert.equal((await stat(join(home, 'secret.key'))).mode & 0o777, 0o600)
  assert.equal((await stat(home)).mode & 0o777, 0o700)
  assert.deepEqual(await readdir(home), ['secret.key'])
})

test('processes that start together agree on one key', async (t) => {
  const home = await emptyHome(t)
  const keys = await Promise.all(Array.from({ length: 8 }, () => loadMasterKey({ home })))
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 1)
  assert.deepEqual(await readdir(home), ['secret.key'])
})

test('a key from the environment takes precedence, and no file is written', async (t) => {
  const home = await emptyHome(t)
  const key = randomBytes(32)
  assert.deepEqual(await loadMasterKey({ home, fromEnvironment: key.toString('hex') }), key)
  assert.deepEqual(await readdir(home), [])
})

test('a key file with a line break at its end is read', async (t) => {
  const home = await emptyHome(t)
  const key = randomBytes(32)
  await writeFile(join(home, 'secret.key'), `${key.toString('base64')}\r\n`)
  assert.deepEqual(await loadMasterKey({ home }), key)
})

test('a damaged key file prevents the start and stays unchanged', async (t) => {
  const home = await emptyHome(t)
  const path = join(home, 'secret.key')
  for (const content of ['', 'not a key', 'ab'.repeat(31)]) {
    await writeFile(path, content)
    await assert.rejects(loadMasterKey({ home }), {
      message: `${path} does not contain a valid key: expected 64 hex characters, or 32 bytes as base64.`,
    })
    assert.equal(await readFile(path, 'utf8'), content)
  }
})

test('a key is 32 bytes, as hex in any case or as base64 of either alphabet', () => {
  const bytes = Buffer.alloc(32, 0xfb)
  const forms = [
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]
  for (const text of forms) assert.deepEqual(decodeKey(text), bytes, text)
})

test('anything else is not a key', () => {
  const wrong = [
    '',
    'ab'.repeat(31),
    'ab'.repeat(33),
    'g'.repeat(64),
    'A'.repeat(42),
    'A'.repeat(45),
    `${'A'.repeat(43)}!`,
  ]
  for (const text of wrong) assert.equal(decodeKey(text), undefined, text)
})
