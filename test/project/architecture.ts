// Checks the imports under server/ and web/src/ against docs/architecture.md: the layers from top to bottom with
// their rooms, the pairs of rooms that may import each other inside a layer, and the modules of the client that both
// use. The page is exact in both directions: an import it does not allow is a problem, and so is an unused pair or a
// room that does not exist.

import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'

/** Rooms by layer, top layer first; and for each room of a pair, the rooms of its layer that it may import. */
export type Layout = { layers: Map<string, Set<string>>; pairs: Map<string, Set<string>> }

type SourceFile = { path: string; room: string; imports: string[] }

/** A folder of sources. Its tables follow the heading. */
type Tree = { base: string; heading: string }

const TREES: Tree[] = [
  { base: 'server', heading: '## Layers' },
  { base: 'web/src', heading: '## Layers of the dashboard' },
]

/** The files directly in a tree: its composition root, which may import every room. */
const ROOT = 'composition root'

/** Paths are relative to `root`. An empty list means that the code follows the page. */
export async function checkImports(root: string): Promise<string[]> {
  const page = await readFile(join(root, 'docs', 'architecture.md'), 'utf8')
  const shared = new Set(readShared(page))
  const trees = await Promise.all(TREES.map((tree) => checkTree(root, page, shared, tree)))
  const used = new Set(trees.flatMap(({ files }) => files.flatMap(({ imports }) => imports)))
  return [
    ...trees.flatMap(({ problems }) => problems),
    ...[...shared]
      .filter((path) => !used.has(path))
      .map((path) => `docs/architecture.md lets the server import ${path}, but nothing there does`),
  ]
}

async function checkTree(root: string, page: string, shared: ReadonlySet<string>, { base, heading }: Tree) {
  const section = page.slice(page.indexOf(`\n${heading}\n`) + 1)
  const layout = readLayout(section)
  const files = await readSources(root, base)
  const roomGraph = groupByRoom(files, base)
  const problems = [
    ...pictureProblems(section, layout),
    ...roomProblems(layout, base, new Set(roomGraph.keys())),
    ...files.flatMap((file) => importProblems(file, base, layout, shared)),
    ...unusedPairs(layout, roomGraph),
    ...cycles(roomGraph).map((cycle) => `import cycle between rooms: ${cycle.join(' → ')}`),
    ...cycles(new Map(files.map((file) => [file.path, file.imports]))).map(
      (cycle) => `import cycle between files: ${cycle.join(' → ')}`,
    ),
  ]
  return { files, problems }
}

export function readLayout(section: string): Layout {
  const layers: Layout['layers'] = new Map()
  let layer = ''
  for (const [name, room] of tableUnder(section, 'layer', 'room', 'what it is for')) {
    layer = namesIn(name)[0] ?? layer
    layers.set(layer, (layers.get(layer) ?? new Set()).add(namesIn(room)[0] ?? ''))
  }
  const pairs = tableUnder(section, 'room', 'may also import').map(
    ([room, others]) => [namesIn(room)[0] ?? '', new Set(namesIn(others))] as const,
  )
  return { layers, pairs: new Map(pairs) }
}

/** The modules of the client that the server may import. */
function readShared(page: string): string[] {
  return tableUnder(page, 'module of the client', 'what it is for').flatMap(([name]) => namesIn(name))
}

function tableUnder(page: string, ...columns: string[]): string[][] {
  const lines = page.split('\n')
  const header = lines.indexOf(`| ${columns.join(' | ')} |`)
  if (header === -1) throw new Error(`docs/architecture.md has no table "${columns.join(' | ')}"`)
  const end = lines.findIndex((line, index) => index > header && !line.startsWith('|'))
  const rows = lines.slice(header + 2, end === -1 ? undefined : end)
  return rows.map((row) => row.split('|').slice(1, -1))
}

/** The names in backticks. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

/** The Mermaid picture names each layer with its rooms: `platform["<b>platform</b><br>config · crypto"]`. */
function pictureProblems(section: string, { layers }: Layout): string[] {
  const [picture = ''] = /```mermaid[\s\S]*?```/.exec(section) ?? []
  const drawn = [...picture.matchAll(/<b>(.+?)<\/b><br>(.+?)"\]/g)].map(
    ([, layer, rooms]) => [layer!, rooms!.split(' · ').sort()] as const,
  )
  const listed = [...layers].map(([layer, rooms]) => [layer, [...rooms].sort()] as const)
  return JSON.stringify(drawn) === JSON.stringify(listed)
    ? []
    : ['the picture in docs/architecture.md does not show the layers and rooms of its table']
}

async function readSources(root: string, base: string): Promise<SourceFile[]> {
  const entries = await readdir(join(root, base), { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !isForTests(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
  return Promise.all(
    paths.map(async (path) => ({
      path,
      room: roomOf(path, base),
      imports: importedBy(path, await readFile(join(root, path), 'utf8')),
    })),
  )
}

/** Tests, their fixtures and their helpers may import anything, and nothing of the service imports them. */
function isForTests(path: string): boolean {
  return /(^test-.*|\.test|^fixtures)\.tsx?$/.test(basename(path))
}

/** `server/manage/hooks/routes.ts` → `manage/hooks`, `server/platform/config.ts` → `platform/config`. */
function roomOf(path: string, base: string): string {
  const parts = relative(base, path).split('/')
  if (parts.length === 1) return ROOT
  return parts.length === 2 ? parts.join('/').replace(/\.tsx?$/, '') : parts.slice(0, -1).join('/')
}

/** Import and re-export statements and `import(…)` of a literal, types included; packages and styles are left out. */
const SPECIFIERS = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
]

function importedBy(path: string, source: string): string[] {
  const specifiers = SPECIFIERS.flatMap((pattern) => [...source.matchAll(pattern)].map((match) => match[1]!))
  return [...new Set(specifiers.flatMap((specifier) => resolveImport(path, specifier) ?? []))]
}

/** As package.json resolves them: `#test/…` is test/…, `#client/…` is client/src/…, every other `#…` is server/…. */
function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier.endsWith('.css')) return undefined
  if (specifier.startsWith('#test/')) return specifier.slice(1)
  if (specifier.startsWith('#client/')) return specifier.replace('#client/', 'client/src/')
  if (specifier.startsWith('#web/')) return specifier.replace('#web/', 'web/src/')
  if (specifier.startsWith('#')) return `server/${specifier.slice(1)}`
  if (specifier.startsWith('.')) return relative('/', resolve('/', dirname(from), specifier))
  return undefined
}

function roomProblems({ layers, pairs }: Layout, base: string, found: Set<string>): string[] {
  const listed = [...layers].flatMap(([layer, rooms]) => [...rooms].map((room) => `${layer}/${room}`))
  const missing = [...found].filter((room) => room !== ROOT && !listed.includes(room))
  const gone = [...listed, ...pairs.keys()].filter((room) => !found.has(room))
  return [
    ...missing.map((room) => `${base}/${room} is not listed in docs/architecture.md`),
    ...gone.map((room) => `docs/architecture.md lists ${room}, which is not under ${base}/`),
  ]
}

/** What the dashboard imports of the client: everything is there. */
const ENTRY = 'client/src/index.ts'

function importProblems(
  { path, room, imports }: SourceFile,
  base: string,
  { layers, pairs }: Layout,
  shared: ReadonlySet<string>,
): string[] {
  const order = [...layers.keys()]
  const heightOf = (name: string) => (name === ROOT ? -1 : order.indexOf(name.split('/')[0]!))
  return imports.flatMap((imported) => {
    if (base === 'server' ? shared.has(imported) : imported === ENTRY) return []
    if (!imported.startsWith(`${base}/`)) return `${path} imports ${imported}, which is outside ${base}/`
    if (isForTests(imported)) return `${path} imports ${imported}, which is for tests only`
    const other = roomOf(imported, base)
    if (other === room || heightOf(other) > heightOf(room)) return []
    if (heightOf(other) < heightOf(room)) return `${path} imports ${imported}, which is in a layer above`
    return pairs.get(room)?.has(other.slice(other.indexOf('/') + 1))
      ? []
      : `${path} imports ${imported}: ${room} and ${other} are not a listed pair of their layer`
  })
}

function unusedPairs({ pairs }: Layout, graph: Graph): string[] {
  return [...pairs].flatMap(([room, others]) => {
    const layer = room.split('/')[0]
    const used = new Set(graph.get(room))
    return [...others]
      .filter((other) => !used.has(`${layer}/${other}`))
      .map((other) => `docs/architecture.md lets ${room} import ${other}, but nothing there does`)
  })
}

type Graph = Map<string, Iterable<string>>

function groupByRoom(files: SourceFile[], base: string): Graph {
  const graph = new Map<string, Set<string>>()
  for (const { room, imports } of files) {
    const others = graph.get(room) ?? new Set()
    for (const path of imports)
      if (path.startsWith(`${base}/`) && roomOf(path, base) !== room) others.add(roomOf(path, base))
    graph.set(room, others)
  }
  return graph
}

/** One cycle for each back edge of a depth-first walk; the last name repeats the first. */
function cycles(graph: Graph): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  const trail: string[] = []

  function walk(node: string): void {
    const at = trail.indexOf(node)
    if (at !== -1) found.push([...trail.slice(at), node])
    if (at !== -1 || done.has(node)) return
    trail.push(node)
    for (const next of graph.get(node) ?? []) walk(next)
    trail.pop()
    done.add(node)
  }

  for (const node of graph.keys()) walk(node)
  return found
}

if (import.meta.main) {
  const problems = await checkImports(join(import.meta.dirname, '../..'))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
