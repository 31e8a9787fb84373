import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openTestApp } from '#test/support/harness.ts'

const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const FILE = inProject('client/src/api-types.ts')
/** A field with a default may be left out of a request. */
const OPTIONS = ['--default-non-nullable=false']

test("the client's types match the API (UPDATE=1 regenerates them)", async (t) => {
  const { app } = await openTestApp(t)
  const document = { ...app.swagger(), servers: [] }
  const generated = await run(
    'client/node_modules/.bin/openapi-typescript',
    OPTIONS,
    JSON.stringify(document),
  )
  const types = await run('node_modules/.bin/biome', ['format', `--stdin-file-path=${FILE}`], generated)
  if (process.env.UPDATE === '1') await writeFile(FILE, types)
  assert.ok((await readFile(FILE, 'utf8')) === types, `${FILE} is out of date: run this test with UPDATE=1`)
})

function run(program: string, args: string[], input: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { maxBuffer: 32 * 1024 * 1024 }
  const child = execFile(inProject(program), args, options, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  )
  child.stdin!.end(input)
  return promise
}
