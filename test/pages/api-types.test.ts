import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTestApp } from '#test/support/harness.ts'
import { type OpenApiDocument, writeApiTypes } from './api-types.ts'

const FILE = fileURLToPath(new URL('../../web/src/api-types.ts', import.meta.url))
const BIOME = fileURLToPath(new URL('../../node_modules/.bin/biome', import.meta.url))

test("the pages' types match the API (UPDATE=1 regenerates them)", async (t) => {
  const { app } = await openTestApp(t)
  const types = await format(writeApiTypes(app.swagger() as unknown as OpenApiDocument))
  if (process.env.UPDATE === '1') await writeFile(FILE, types)
  assert.ok(
    (await readFile(FILE, 'utf8')) === types,
    'web/src/api-types.ts is out of date: run this test with UPDATE=1',
  )
})

function format(source: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const biome = execFile(BIOME, ['format', '--stdin-file-path=web/src/api-types.ts'], (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  )
  biome.stdin!.end(source)
  return promise
}
