import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkImports } from './architecture.ts'

const PAGE = `# A small house

| folder | what it is | may import |
|---|---|---|
| \`cellar\` | the lowest room | nothing |
| \`kitchen\` | above it | \`cellar\` |
| \`roof.ts\` | on top | \`kitchen\` |
`

const HOUSE = {
  'docs/architecture.md': PAGE,
  'server/cellar/wine.ts': 'export const wine = 1\n',
  'server/kitchen/stove.ts': "import { wine } from '#cellar/wine.ts'\nexport const stove = wine\n",
  'server/roof.ts': "import type { stove } from './kitchen/stove.ts'\nexport type Roof = typeof stove\n",
}

test('the code imports what docs/architecture.md allows, all of it and nothing else', async () => {
  assert.deepEqual(await checkImports(join(import.meta.dirname, '..')), [])
})

test('a house that follows its table has no faults', async (t) => {
  assert.deepEqual(await faultsOf(t, {}), [])
})

test('an import that the table does not allow is found, also when it takes only a type', async (t) => {
  const upwards = { 'server/cellar/wine.ts': "import {\n  type Roof,\n} from '../roof.ts'\n" }
  assert.match((await faultsOf(t, upwards)).join('\n'), /wine\.ts imports server\/roof\.ts: cellar may not/)
  const sideways = {
    'server/roof.ts': "export { wine } from '#cellar/wine.ts'\nimport '#kitchen/stove.ts'\n",
  }
  assert.match((await faultsOf(t, sideways)).join('\n'), /roof\.ts may not import cellar/)
  const late = { 'server/cellar/key.ts': "export const key = () => import('#kitchen/stove.ts')\n" }
  assert.match((await faultsOf(t, late)).join('\n'), /key\.ts imports server\/kitchen\/stove\.ts/)
})

test('a folder without a row, also one inside another folder, is found', async (t) => {
  const faults = await faultsOf(t, {
    'server/attic/box.ts': 'export const box = 1\n',
    'server/cellar/shelf/jar.ts': 'export const jar = 1\n',
  })
  assert.deepEqual(faults, [
    'server/attic has no row in docs/architecture.md',
    'server/cellar/shelf has no row in docs/architecture.md',
  ])
})

test('a row without a folder, and a permission that nobody uses, are found', async (t) => {
  const page = PAGE.replace('on top | ', 'on top | `cellar`, ').concat('| `garden` | gone | nothing |\n')
  assert.deepEqual(await faultsOf(t, { 'docs/architecture.md': page }), [
    'docs/architecture.md has a row for garden, which is not under server/',
    'docs/architecture.md lets roof.ts import cellar, but nothing there does',
  ])
})

test('a circle is found between files of one folder and between rows of the table', async (t) => {
  const files = {
    'server/cellar/wine.ts': "import type { Rack } from './rack.ts'\nexport type Wine = Rack\n",
    'server/cellar/rack.ts': "import type { Wine } from './wine.ts'\nexport type Rack = Wine\n",
  }
  assert.deepEqual(await faultsOf(t, files), [
    'imports run in a circle: server/cellar/rack.ts → server/cellar/wine.ts → server/cellar/rack.ts',
  ])
  const rows = {
    'docs/architecture.md': PAGE.replace('nothing', '`kitchen`'),
    'server/cellar/door.ts': "import '#kitchen/stove.ts'\n",
  }
  assert.deepEqual(await faultsOf(t, rows), [
    'the table lets imports run in a circle: cellar → kitchen → cellar',
  ])
})

test('tests may import anything, and nothing but a test may import them', async (t) => {
  const free = {
    'server/cellar/wine.test.ts': "import '#kitchen/stove.ts'\nimport '#test/harness.ts'\n",
    'server/cellar/test-rack.ts': "import '../roof.ts'\n",
    'server/cellar/fixtures.ts': "import '../roof.ts'\n",
  }
  assert.deepEqual(await faultsOf(t, free), [])
  const faults = await faultsOf(t, {
    ...free,
    'server/cellar/wine.ts': "import './test-rack.ts'\nimport '#test/harness.ts'\n",
  })
  assert.deepEqual(faults, [
    'server/cellar/wine.ts imports server/cellar/test-rack.ts, which is for tests only',
    'server/cellar/wine.ts imports test/harness.ts, which is outside server/',
  ])
})

async function faultsOf(t: TestContext, changes: Record<string, string>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'gantry-house-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  for (const [path, text] of Object.entries({ ...HOUSE, ...changes })) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return checkImports(root)
}
