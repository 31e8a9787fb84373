import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageForm } from './built-pages.ts'
import { chooseForm, hasForm } from './choose-form.ts'

const formOf = (encoding: PageForm['encoding']): PageForm => ({
  encoding,
  bytes: Buffer.alloc(0),
  etag: `"${encoding}"`,
})
const forms = [formOf('br'), formOf('gzip'), formOf(null)]

const CHOICES: [accept: string | undefined, encoding: PageForm['encoding']][] = [
  [undefined, null],
  ['', null],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.000, gzip;q=0', null],
  ['identity', null],
  ['*', null],
  [',;,q=', null],
]
for (const [accept, encoding] of CHOICES) {
  test(`who accepts ${accept ?? 'whatever'} gets ${encoding ?? 'the plain form'}`, () => {
    assert.equal(chooseForm(forms, accept).encoding, encoding)
  })
}

test('a form is known by its tag, alone or among others', () => {
  assert.ok(hasForm(forms[0]!, '"br"'))
  assert.ok(hasForm(forms[0]!, '"x", W/"br"'))
  assert.ok(hasForm(forms[0]!, '*'))
  assert.ok(!hasForm(forms[0]!, '"gzip"'))
  assert.ok(!hasForm(forms[0]!, undefined))
})
