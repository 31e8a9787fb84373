// Recipes are followed by hand: a file that they name exists.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

const NAMED = /`((?:server|web|test|cli|client|docs|scripts|bench|deploy)\/[\w./-]+\.\w+)`/g

for (const page of ['CONTRIBUTING.md'])
  test(`every file that ${page} names exists`, async () => {
    const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8')
    const named = [...text.matchAll(NAMED)].map(([, path]) => path!).filter((path) => !path.includes('NNNN'))
    assert.ok(named.length > 3)
    assert.deepEqual(
      named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url))),
      [],
    )
  })
