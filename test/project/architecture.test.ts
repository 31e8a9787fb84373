import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkImports } from './architecture.ts'

const PAGE = `# A small house

## Layers

\`\`\`mermaid
flowchart TB
  upper["<b>upper</b><br>kitchen · pantry"] --> lower["<b>lower</b><br>cellar · well"]
\`\`\`

| layer | room | what it is for |
|---|---|---|
| \`upper\` | \`kitchen\` | cooking |
| | \`pantry\` | storing |
| \`lower\` | \`cellar\` | wine |
| | \`well\` | water |

| room | may also import |
|---|---|
| \`upper/kitchen\` | \`pantry\` |

| module of the client | what it is for |
|---|---|
| \`client/src/slug.ts\` | names |

## Layers of the dashboard

\`\`\`mermaid
flowchart TB
  pages["<b>pages</b><br>door · window"] --> base["<b>base</b><br>api"]
\`\`\`

| layer | room | what it is for |
|---|---|---|
| \`pages\` | \`door\` | entering |
| | \`window\` | looking |
| \`base\` | \`api\` | reading |

| room | may also import |
|---|---|
| \`pages/door\` | \`window\` |
`

const HOUSE = {
  'docs/architecture.md': PAGE,
  'server/lower/cellar/wine.ts': 'export const wine = 1\n',
  'server/lower/well.ts': "import { slug } from '#client/slug.ts'\nexport const water = slug\n",
  'server/upper/pantry/shelf.ts': "import { water } from '#lower/well.ts'\nexport const shelf = water\n",
  'server/upper/kitchen/stove.ts':
    "import { wine } from '#lower/cellar/wine.ts'\nimport { shelf } from '#upper/pantry/shelf.ts'\nexport const stove = wine + shelf\n",
  'server/roof.ts':
    "import type { stove } from '#upper/kitchen/stove.ts'\nimport '#lower/well.ts'\nexport type Roof = typeof stove\n",
  'web/src/base/api/read.ts': "import { get } from '#client/index.ts'\nexport const read = get\n",
  'web/src/pages/window/glass.tsx':
    "import { read } from '#web/base/api/read.ts'\nexport const glass = read\n",
  'web/src/pages/door/handle.tsx':
    "import { glass } from '#web/pages/window/glass.tsx'\nimport './handle.css'\nexport const handle = glass\n",
  'web/src/main.tsx': "import './pages/door/handle.tsx'\n",
}

test('the imports of the code match docs/architecture.md exactly', async () => {
  assert.deepEqual(await checkImports(join(import.meta.dirname, '../..')), [])
})

test('code that follows its page has no problems', async (t) => {
  assert.deepEqual(await problemsOf(t, {}), [])
})

test('an import of a higher layer is reported, even of a type or a dynamic one', async (t) => {
  const type = { 'server/lower/cellar/wine.ts': "import {\n  type Roof,\n} from '../../roof.ts'\n" }
  assert.match(
    (await problemsOf(t, type)).join('\n'),
    /wine\.ts imports server\/roof\.ts, which is in a layer above/,
  )
  const late = {
    'server/lower/cellar/key.ts': "export const key = () => import('#upper/kitchen/stove.ts')\n",
  }
  assert.match(
    (await problemsOf(t, late)).join('\n'),
    /key\.ts imports server\/upper\/kitchen\/stove\.ts, which is in a layer above/,
  )
})

test('an import inside a layer requires its pair, in that direction', async (t) => {
  const sideways = { 'server/lower/cellar/wine.ts': "export { water as wine } from '#lower/well.ts'\n" }
  assert.deepEqual(await problemsOf(t, sideways), [
    'server/lower/cellar/wine.ts imports server/lower/well.ts: lower/cellar and lower/well are not a listed pair of their layer',
  ])
  const back = {
    'server/upper/kitchen/stove.ts':
      "import type { shelf } from '#upper/pantry/shelf.ts'\nexport type Stove = typeof shelf\n",
    'server/upper/pantry/jar.ts':
      "import type { Stove } from '#upper/kitchen/stove.ts'\nexport type Jar = Stove\n",
    'server/roof.ts': 'export type Roof = 1\n',
  }
  assert.deepEqual(await problemsOf(t, back), [
    'server/upper/pantry/jar.ts imports server/upper/kitchen/stove.ts: upper/pantry and upper/kitchen are not a listed pair of their layer',
    'import cycle between rooms: upper/kitchen → upper/pantry → upper/kitchen',
  ])
})

test('a room that the page does not list is reported, even inside another room', async (t) => {
  const problems = await problemsOf(t, {
    'server/lower/attic/box.ts': 'export const box = 1\n',
    'server/lower/cellar/shelf/jar.ts': 'export const jar = 1\n',
  })
  assert.deepEqual(problems, [
    'server/lower/attic is not listed in docs/architecture.md',
    'server/lower/cellar/shelf is not listed in docs/architecture.md',
  ])
})

test('a missing room, an unused pair and a different picture are reported', async (t) => {
  const page = PAGE.replace('| | `well` | water |', '| | `well` | water |\n| | `garden` | gone |').replace(
    '| `upper/kitchen` | `pantry` |\n',
    '| `upper/kitchen` | `pantry` |\n| `lower/cellar` | `well` |\n',
  )
  assert.deepEqual(await problemsOf(t, { 'docs/architecture.md': page }), [
    'the picture in docs/architecture.md does not show the layers and rooms of its table',
    'docs/architecture.md lists lower/garden, which is not under server/',
    'docs/architecture.md lets lower/cellar import well, but nothing there does',
  ])
})

test('a cycle between files of one room is reported', async (t) => {
  const files = {
    'server/lower/cellar/wine.ts': "import type { Rack } from './rack.ts'\nexport type Wine = Rack\n",
    'server/lower/cellar/rack.ts': "import type { Wine } from './wine.ts'\nexport type Rack = Wine\n",
  }
  assert.deepEqual(await problemsOf(t, files), [
    'import cycle between files: server/lower/cellar/rack.ts → server/lower/cellar/wine.ts → server/lower/cellar/rack.ts',
  ])
})

test('tests may import anything, and nothing but a test may import them', async (t) => {
  const free = {
    'server/lower/cellar/wine.test.ts': "import '#upper/kitchen/stove.ts'\nimport '#test/harness.ts'\n",
    'server/lower/cellar/test-rack.ts': "import '../../roof.ts'\n",
    'server/lower/cellar/fixtures.ts': "import '../../roof.ts'\n",
  }
  assert.deepEqual(await problemsOf(t, free), [])
  const problems = await problemsOf(t, {
    ...free,
    'server/lower/cellar/wine.ts': "import './test-rack.ts'\nimport '#test/harness.ts'\n",
  })
  assert.deepEqual(problems, [
    'server/lower/cellar/wine.ts imports server/lower/cellar/test-rack.ts, which is for tests only',
    'server/lower/cellar/wine.ts imports test/harness.ts, which is outside server/',
  ])
})

test('the server imports only the listed modules of the client, and each of them', async (t) => {
  const other = { 'server/lower/cellar/wine.ts': "import '#client/index.ts'\n" }
  assert.deepEqual(await problemsOf(t, other), [
    'server/lower/cellar/wine.ts imports client/src/index.ts, which is outside server/',
  ])
  assert.deepEqual(await problemsOf(t, { 'server/lower/well.ts': 'export const water = 1\n' }), [
    'docs/architecture.md lets the server import client/src/slug.ts, but nothing there does',
  ])
})

test('the dashboard is checked against its own tables', async (t) => {
  const upward = {
    'web/src/base/api/read.ts':
      "import { glass } from '#web/pages/window/glass.tsx'\nexport const read = glass\n",
    'web/src/pages/window/frame.tsx': "import '../../../../server/roof.ts'\n",
    'web/src/pages/stairs/step.tsx': "import '#web/pages/window/glass.tsx'\n",
  }
  assert.deepEqual(await problemsOf(t, upward), [
    'web/src/pages/stairs is not listed in docs/architecture.md',
    'web/src/base/api/read.ts imports web/src/pages/window/glass.tsx, which is in a layer above',
    'web/src/pages/stairs/step.tsx imports web/src/pages/window/glass.tsx: pages/stairs and pages/window are not a listed pair of their layer',
    'web/src/pages/window/frame.tsx imports server/roof.ts, which is outside web/src/',
    'import cycle between rooms: base/api → pages/window → base/api',
    'import cycle between files: web/src/base/api/read.ts → web/src/pages/window/glass.tsx → web/src/base/api/read.ts',
  ])
})

async function problemsOf(t: TestContext, changes: Record<string, string>): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), 'gantry-house-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  for (const [path, text] of Object.entries({ ...HOUSE, ...changes })) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return checkImports(root)
}
