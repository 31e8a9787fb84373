// What generators make of the OpenAPI document: it compiles, and accepts what the API sends and takes.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import examples from '#platform/http/openapi-examples.json' with { type: 'json' }
import { openToolFolder } from '#test/support/openapi-tools.ts'

const GUIDE = new URL('../../docs/guides/client.md', import.meta.url)
const STRICT = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  skipLibCheck: true,
}
const { folder, document, tool, type } = await openToolFolder({ after })

before(async () => {
  const commands = (await readFile(GUIDE, 'utf8')).match(/^npx .*$/gm) ?? []
  assert.deepEqual(
    commands.map((command) => command.split(' ')[1]),
    ['openapi-typescript', '@hey-api/openapi-ts', 'orval', 'orval'],
  )
  await Promise.all([...commands.map(type), generateEveryStatus()])
})

test('what the commands of the guide generate compiles under strict TypeScript 5', async () => {
  const use = `
    import type { components } from './gantry-types'
    type Step = components['schemas']['CreateStepRequest']
    export const withoutDefaults: Step = { name: 'Migrate', command: 'bin/migrate' }`
  await writeFile(join(folder, 'use-of-types.ts'), use)
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, include: ['gantry-*', 'use-of-types.ts'] }),
  )
  assert.equal(await tool('tsc', '-p', '.'), '')
})

test('clients have every operation', async () => {
  const operations = Object.values(document.paths!).flatMap((methods) => Object.values(methods!))
  assert.ok(operations.length > 100)
  for (const file of ['gantry-client/sdk.gen.ts', 'gantry-fetch.ts']) {
    const client = await readFile(join(folder, file), 'utf8')
    for (const { operationId } of operations as { operationId: string }[])
      assert.match(client, new RegExp(`export const ${operationId} = `))
  }
})

type Validator = { safeParse(value: unknown): { success: boolean; error?: { issues: unknown[] } } }

test('zod schemas accept every recorded request and answer', async () => {
  const schemas = await readSchemas()
  const rejected: unknown[] = []
  let count = 0
  const check = (name: string, value: unknown) => {
    // Answers that are not JSON have none.
    const schema = schemas[name]
    if (!schema) return
    count += 1
    const { error } = schema.safeParse(value)
    if (error) rejected.push([name, error.issues])
  }
  for (const [operation, { request, responses }] of Object.entries<Recorded>(examples)) {
    check(`${operation}Body`, request)
    for (const [status, response] of Object.entries(responses))
      check(`${operation}${status}Response`, response)
  }
  assert.deepEqual(rejected, [])
  assert.ok(count > 150)
})

test('zod schemas accept every form of a value that has several, and odd names', async () => {
  const { createApplicationPipelineBody: pipeline } = await readSchemas()
  const accepts = (fields: object) =>
    pipeline!.safeParse({ name: 'Deploy', operation: 'deploy', ...fields }).success
  for (const batch of [2, '25%']) assert.ok(accepts({ rollout: { batch } }), String(batch))
  for (const expect_status of [204, '200-299'])
    assert.ok(accepts({ health_check: { type: 'http', url: 'http://127.0.0.1/', expect_status } }))
  for (const name of ['Käse & Brot', '发布', ' 🚀 ', '__proto__', '-']) assert.ok(accepts({ name }), name)
  assert.ok(!accepts({ rollout: { batch: '101%' } }))
  assert.ok(!accepts({ name: ' ' }))
})

type Recorded = { request?: unknown; responses: Record<string, unknown> }

/** By default orval writes schemas of 200 only. */
async function generateEveryStatus(): Promise<void> {
  const output = {
    target: 'zod-of-all.ts',
    client: 'zod',
    override: { zod: { generateEachHttpStatus: true } },
  }
  const config = { gantry: { input: 'openapi.json', output } }
  await writeFile(join(folder, 'orval.config.cjs'), `module.exports = ${JSON.stringify(config)}`)
  await type('npx orval --config orval.config.cjs')
}

/** Of an operation with one status, the name has none. */
async function readSchemas(): Promise<Record<string, Validator>> {
  return import(pathToFileURL(join(folder, 'zod-of-all.ts')).href)
}
