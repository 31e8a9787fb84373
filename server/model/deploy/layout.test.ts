import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { readScript } from '#platform/scripts.ts'
import { baseFolder, freeReleaseName, isReleaseName, releaseName } from './layout.ts'

const HASH = '0123456789abcdef0123456789abcdef01234567'
const NOON = new Date('2026-11-14T12:00:59.999Z')

test('a release is named by the second, in UTC, and by the commit', () => {
  assert.equal(releaseName(NOON, HASH), '20261114120059-01234567')
})

test('a name is only made from a hash', () => {
  for (const hash of ['', '0123456', '../../../../x', `${HASH.toUpperCase()}`, `${HASH}\n`]) {
    assert.throws(() => releaseName(NOON, hash), /commit hash/)
  }
})

test('a release takes the next second that no other release has, whatever its commit', () => {
  const taken = ['20261114120059-ffffffff', '20261114120100-01234567', '20261114120102-01234567']
  assert.equal(freeReleaseName(NOON, HASH, []), '20261114120059-01234567')
  assert.equal(freeReleaseName(NOON, HASH, taken), '20261114120101-01234567')
})

test('names sort as their times do', () => {
  const year = {
    min: new Date('2000-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  }
  fc.assert(
    fc.property(
      fc.date(year),
      fc.date(year),
      fc.string({ unit: fc.constantFrom(...HASH), minLength: 8 }),
      (a, b, hash) => {
        const [first, second] = [releaseName(a, hash), releaseName(b, hash)]
        assert.ok(isReleaseName(first))
        if (first < second) assert.ok(a < b)
      },
    ),
  )
})

test('nothing else is a release name', () => {
  for (const text of [
    '',
    '.',
    '20261114120059',
    '20261114120059-0123456g',
    '20261114120059-01234567\n',
    '../20261114120059-01234567',
  ]) {
    assert.equal(isReleaseName(text), false, JSON.stringify(text))
    assert.equal(bashTakesForRelease(text), false, JSON.stringify(text))
  }
  assert.equal(bashTakesForRelease('20261114120059-01234567'), true)
})

/** With the function that the scripts of deploys use. */
function bashTakesForRelease(text: string): boolean {
  const command = `${readScript('./prelude.sh', import.meta.url)}is_release "$GANTRY_RELEASE"`
  const env = { PATH: process.env.PATH, GANTRY_BASE: '/', GANTRY_RELEASE: text }
  return spawnSync('/bin/bash', ['-c', command], { env }).status === 0
}

test('the folder of an application is one name below an absolute root', () => {
  assert.equal(baseFolder('/srv//www/', 'shop'), '/srv/www/shop')
  for (const folder of ['', '.', '..', 'a/b', '/etc', 'a\0']) assert.throws(() => baseFolder('/srv', folder))
  for (const root of ['', 'srv', '\0', '/a\0']) assert.throws(() => baseFolder(root, 'shop'))
})
