// The build of the guides, from a docs folder of its own: what it makes of Markdown, and what makes it fail.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000028000000168', 'hex')

const GOOD = {
  'docs/README.md': `# Documentation

## Start

| topic | page |
|---|---|
| first | [Tour](tour.md) |
| runs | [Runs: why](guides/runs.md#why-it-waits) |

## Code

| topic | page |
|---|---|
| layers | [Architecture](architecture.md) |
`,
  'docs/tour.md': `# Tour

See [runs](guides/runs.md), [above](#tour) and [why](guides/runs.md#why-it-waits-1).

![The list](screenshots/list.png)
`,
  'docs/guides/runs.md': `# Runs & \`steps\`

<!-- A note for editors -->

Back to the [tour](../tour.md). The [alerts](../../deploy/alerts.yml#L1), and [deploy/alerts.yml](../../deploy/alerts.yml).

## Why it waits?

\`\`\`bash
echo "<b>" # a comment
\`\`\`

## Why it waits

| a | b |
|---|---|
| \`/x/y\` | 1 < 2 & "3" |
`,
  'docs/architecture.md': '# Architecture\n',
  'docs/screenshots/list.png': PNG,
  'deploy/alerts.yml': '',
}

/** A project with these files, and what builds its guides. */
async function createProject(t: TestContext, files: Record<string, string | Buffer>): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'gantry-guides-'))
  t.after(() => rm(project, { recursive: true }))
  const { imports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const all = {
    'package.json': JSON.stringify({ version: '1.2.3', type: 'module', imports }),
    'package-lock.json': '{}',
    ...files,
  }
  for (const [path, content] of Object.entries(all)) await writeAt(join(project, path), content)
  for (const path of ['scripts/build-guides.mjs', 'scripts/built.mjs', 'server/ops/reference/html.ts']) {
    await mkdir(dirname(join(project, path)), { recursive: true })
    await copyFile(join(ROOT, path), join(project, path))
  }
  await cp(join(ROOT, 'scripts/guides'), join(project, 'scripts/guides'), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  return project
}

async function writeAt(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
}

const build = (project: string) =>
  promisify(execFile)(process.execPath, ['scripts/build-guides.mjs'], { cwd: project })

const readBuilt = (project: string, name: string) => readFile(join(project, 'docs/dist', name), 'utf8')

suite('the build of the guides', () => {
  test('makes a page of each guide, with links between them, the version, and the topics of the index', async (t) => {
    const project = await createProject(t, GOOD)
    await build(project)
    const tour = await readBuilt(project, 'tour.html')
    assert.match(tour, /<title>Tour · Gantry 1\.2\.3<\/title>/)
    assert.match(tour, /<a href="\/docs\/guides\/runs">runs<\/a>/)
    assert.match(tour, /<a href="\/docs\/guides\/tour#tour">above<\/a>/)
    assert.match(tour, /<a href="\/docs\/guides\/runs#why-it-waits-1">why<\/a>/)
    assert.match(
      tour,
      /<img src="\/docs\/guides\/screenshots\/list.png" alt="The list" width="640" height="360"/,
    )
    assert.match(tour, /<h2>Start<\/h2><ul><li><a href="\/docs\/guides\/tour" aria-current="page">Tour<\/a>/)
    assert.match(tour, /<li><a href="\/docs\/guides\/runs">Runs<\/a>/)
    const index = await readBuilt(project, 'index.html')
    assert.match(index, /<a href="\/docs\/guides\/runs#why-it-waits">Runs: why<\/a>/)
    assert.doesNotMatch(index, /Architecture/)
    assert.deepEqual(
      (await readdir(join(project, 'docs/dist'))).filter((name) => name.endsWith('.html')),
      ['404.html', 'index.html', 'runs.html', 'tour.html'],
    )
  })

  test('names headings as GitHub does, escapes code, and mentions files that are not served', async (t) => {
    const project = await createProject(t, GOOD)
    await build(project)
    const runs = await readBuilt(project, 'runs.html')
    assert.match(runs, /<h1 id="runs--steps">Runs &amp; <code>steps<\/code><\/h1>/)
    assert.match(runs, /<h2 id="why-it-waits"><a href="#why-it-waits">Why it waits\?<\/a><\/h2>/)
    assert.match(runs, /<h2 id="why-it-waits-1">/)
    assert.match(runs, /echo <i class=s>&quot;&lt;b&gt;&quot;<\/i> <i class=c># a comment<\/i>/)
    assert.match(runs, /<td><code>\/<wbr>x\/<wbr>y<\/code><\/td>/)
    assert.match(runs, /<td>1 &lt; 2 &amp; &quot;3&quot;<\/td>/)
    assert.match(
      runs,
      /The alerts \(<code>deploy\/alerts\.yml<\/code> in the source\), and deploy\/alerts\.yml\./,
    )
    assert.doesNotMatch(runs, /A note for editors/)
  })

  test('makes an index of headings and text for the search', async (t) => {
    const project = await createProject(t, GOOD)
    await build(project)
    const entries = JSON.parse(await readBuilt(project, 'search.json')) as Record<string, string>[]
    assert.deepEqual(
      entries.map(({ page, heading, url }) => [page, heading, url]),
      [
        ['Runs & steps', 'Runs & steps', '/docs/guides/runs'],
        ['Runs & steps', 'Why it waits?', '/docs/guides/runs#why-it-waits'],
        ['Runs & steps', 'Why it waits', '/docs/guides/runs#why-it-waits-1'],
        ['Tour', 'Tour', '/docs/guides/tour'],
      ],
    )
    assert.doesNotMatch(entries[0]!.text!, /editors/)
    assert.equal(entries[1]!.text, 'echo "<b>" # a comment')
    assert.equal(entries[2]!.text, 'a b /x/y 1 < 2 & "3"')
  })

  test('happens when something has changed, and only then', async (t) => {
    const project = await createProject(t, GOOD)
    await build(project)
    await writeFile(join(project, 'docs/dist/tour.html'), 'as it was')
    await build(project)
    assert.equal(await readBuilt(project, 'tour.html'), 'as it was')
    await writeFile(join(project, 'docs/tour.md'), '# Another tour\n')
    await build(project)
    assert.match(await readBuilt(project, 'tour.html'), /Another tour/)
  })
})

suite('the build of the guides fails, and names file, line and link, for', () => {
  const TOUR = (text: string) => ({ ...GOOD, 'docs/tour.md': `# Tour\n\nA paragraph\nand ${text}\n` })
  const CASES: [what: string, files: Record<string, string | Buffer>, message: string][] = [
    [
      'a missing page',
      TOUR('[x](guides/gone.md).'),
      'docs/tour.md:4: link guides/gone.md: there is no such file',
    ],
    [
      'a missing heading',
      TOUR('[x](guides/runs.md#gone).'),
      'docs/tour.md:4: link guides/runs.md#gone: docs/guides/runs.md has no heading #gone',
    ],
    [
      'a missing heading of the page itself',
      TOUR('[x](#gone).'),
      'docs/tour.md:4: link #gone: docs/tour.md has no heading #gone',
    ],
    [
      'a missing heading of a page that is not served',
      TOUR('[x](architecture.md#gone).'),
      'docs/tour.md:4: link architecture.md#gone: docs/architecture.md has no heading #gone',
    ],
    [
      'a missing file',
      TOUR('[x](../deploy/gone.yml).'),
      'docs/tour.md:4: link ../deploy/gone.yml: there is no such file',
    ],
    [
      'a file outside of the project',
      TOUR('[x](../../etc/passwd).'),
      'docs/tour.md:4: link ../../etc/passwd: is outside of the project',
    ],
    [
      'a missing image',
      TOUR('![x](screenshots/gone.png)'),
      'docs/tour.md:4: image screenshots/gone.png: there is no such file',
    ],
    [
      'an image that is none',
      TOUR('![x](guides/runs.md)'),
      'docs/tour.md:4: image guides/runs.md: images are PNG files in docs/screenshots',
    ],
    [
      'a script in a link',
      TOUR('[x](javascript:alert(1)).'),
      'docs/tour.md:4: link javascript:alert(1): links are relative, or start with http://, https:// or mailto:',
    ],
    [
      'an absolute path',
      TOUR('[x](/docs/guides/runs).'),
      'docs/tour.md:4: link /docs/guides/runs: links are relative, or start with http://, https:// or mailto:',
    ],
    ['HTML', TOUR('<b onclick="x()">this</b>.'), 'docs/tour.md:4: HTML is not allowed: <b onclick="x()">'],
    [
      'a page that the index does not list',
      { ...GOOD, 'docs/guides/new.md': '# New\n' },
      'docs/guides/new.md:1: docs/README.md has no link to it',
    ],
    [
      'two pages of the same name',
      { ...GOOD, 'docs/runs.md': '# Runs\n' },
      'docs/runs.md:1: has the same name as docs/guides/runs.md',
    ],
    [
      'a page without a title',
      { ...GOOD, 'docs/tour.md': 'Tour\n' },
      'docs/tour.md:1: the page has no title (a line with one #)',
    ],
  ]
  for (const [what, files, message] of CASES) {
    test(what, async (t) => {
      const project = await createProject(t, files)
      const failure = await build(project).catch((error) => error as { code: number; stderr: string })
      assert.equal('code' in failure && failure.code, 1)
      assert.ok(failure.stderr.split('\n').includes(message), failure.stderr)
      assert.deepEqual((await readdir(join(project, 'docs'))).includes('dist'), false)
    })
  }
})
