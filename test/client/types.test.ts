import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ENVIRONMENT_TYPES, OPERATIONS, STATUSES } from '#platform/vocabulary.ts'
import { openTestApp } from '#test/support/harness.ts'

const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const TYPES_FILE = inProject('client/src/api-types.ts')
const LABELS_FILE = inProject('client/src/labels.ts')
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
  await matches(TYPES_FILE, generated)
})

test("the client's labels are those of the API (UPDATE=1 regenerates them)", async () => {
  const labels = { ENVIRONMENT_TYPES, OPERATIONS, STATUSES }
  const constants = Object.entries(labels).map(
    ([name, values]) => `export const ${name} = ${JSON.stringify(values)} as const`,
  )
  const header =
    '// Generated: the enumerated values of the API with their labels, as its answers spell them.'
  await matches(LABELS_FILE, [header, ...constants].join('\n\n'))
})

async function matches(file: string, generated: string): Promise<void> {
  const formatted = await run('node_modules/.bin/biome', ['format', `--stdin-file-path=${file}`], generated)
  if (process.env.UPDATE === '1') await writeFile(file, formatted)
  assert.ok(
    (await readFile(file, 'utf8')) === formatted,
    `${file} is out of date: run this test with UPDATE=1`,
  )
}

function run(program: string, args: string[], input: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { maxBuffer: 32 * 1024 * 1024 }
  const child = execFile(inProject(program), args, options, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  )
  child.stdin!.end(input)
  return promise
}
