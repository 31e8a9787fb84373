import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slugify, slugifyAnyScript } from '#client/slug.ts'

const NAMES: [name: string, slug: string, inAnyScript: string][] = [
  ['Sample Organization', 'sample-organization', 'sample-organization'],
  [' Café — (déployé) ', 'cafe-deploye', 'cafe-deploye'],
  ['Ｗｅｂ', 'web', 'web'],
  ['Магазин 2', '2', 'магазин-2'],
  ['한국어 배포', 'unnamed', '한국어-배포'],
  ['🚀/..', 'unnamed', ''],
  ['x'.repeat(80), 'x'.repeat(60), 'x'.repeat(80)],
]

for (const [name, slug, inAnyScript] of NAMES) {
  test(`the slug of "${name}" is ${slug}, in any script "${inAnyScript}", and stays the same`, () => {
    assert.deepEqual([slugify(name), slugifyAnyScript(name)], [slug, inAnyScript])
    assert.deepEqual([slugify(slug), slugifyAnyScript(inAnyScript)], [slug, inAnyScript])
  })
}
