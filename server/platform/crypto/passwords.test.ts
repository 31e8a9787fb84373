import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { generatePassword, hashPassword, verifyPassword } from './passwords.ts'

test('only the right password matches a hash', async () => {
  const stored = await hashPassword('correct horse')
  assert.equal(await verifyPassword('correct horse', stored), true)
  for (const wrong of ['correct horsf', 'Correct horse', 'correct horse ', '']) {
    assert.equal(await verifyPassword(wrong, stored), false)
  }
})

test('a hash contains its parameters and nothing about the password', async () => {
  const stored = await hashPassword('correct horse')
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.notEqual(stored, await hashPassword('correct horse'))
})

test('a hash with other costs is verified', async () => {
  const nonce = Buffer.from('somesalt123')
  const hash = argon2Sync('argon2id', {
    message: 'password',
    nonce,
    memory: 64,
    passes: 1,
    parallelism: 1,
    tagLength: 16,
  })
  const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  const stored = `$argon2id$v=19$m=64,t=1,p=1$${encode(nonce)}$${encode(hash)}`
  assert.equal(await verifyPassword('password', stored), true)
  assert.equal(await verifyPassword('passwort', stored), false)
})

test('without a stored hash, or with an invalid one, no password matches', async () => {
  for (const stored of [
    null,
    '',
    'plain',
    '$2b$10$abcdefghijklmnopqrstuv',
    '$argon2id$v=19$m=64,t=1,p=1$$',
  ]) {
    assert.equal(await verifyPassword('', stored), false)
    assert.equal(await verifyPassword('plain', stored), false)
  }
})

test('the same letters typed on another keyboard are the same password', async () => {
  const stored = await hashPassword('caf\u00e9-na\u00efve')
  assert.equal(await verifyPassword('cafe\u0301-nai\u0308ve', stored), true)
})

test('generated passwords are long and unique, and contain no look-alikes', () => {
  const passwords = Array.from({ length: 200 }, generatePassword)
  assert.equal(new Set(passwords).size, 200)
  for (const password of passwords) assert.match(password, /^[a-km-np-zA-HJ-NP-Z2-9]{20}$/)
})
