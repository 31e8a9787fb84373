// What linters say about the OpenAPI document.
import assert from 'node:assert/strict'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openToolFolder } from '#test/support/openapi-tools.ts'

const RULES = fileURLToPath(new URL('openapi-lint/', import.meta.url))
const { folder, tool } = await openToolFolder({ after })

before(() => cp(RULES, folder, { recursive: true }))

test('the rules of spectral:oas find nothing', async () => {
  const found: { code: string; path: string[]; message: string }[] = JSON.parse(
    await tool('spectral', 'lint', 'openapi.json', '--format=json', '--quiet'),
  )
  assert.deepEqual(
    found.map(({ code, path, message }) => `${code} ${path.join('.')}: ${message}`),
    [],
  )
})

test('Redocly’s recommended rules find nothing, except what is listed with its reason', async () => {
  const { totals, problems } = JSON.parse(await tool('redocly', 'lint', 'openapi.json', '--format=json'))
  assert.deepEqual(
    problems.filter(({ ignored }: { ignored?: boolean }) => !ignored),
    [],
  )
  const exceptions = await readFile(join(RULES, '.redocly.lint-ignore.yaml'), 'utf8')
  assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: exceptions.match(/^ +- /gm)!.length })
})
