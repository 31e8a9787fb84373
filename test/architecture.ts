// Holds the imports under server/ against the table in docs/architecture.md, which says what each folder may
// import. The table is exact in both directions: what it does not allow is a fault, and so is what it allows
// and nobody uses, or a row for a folder that is gone.

import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'

/** A row's name → the names it may import. A file directly under server/ is a row of its own. */
export type ImportTable = Map<string, Set<string>>

type SourceFile = { path: string; part: string; imports: string[] }

/** Paths are relative to `root`. An empty list means that the code is built the way the page says. */
export async function checkImports(root: string): Promise<string[]> {
  const table = readTable(await readFile(join(root, 'docs', 'architecture.md'), 'utf8'))
  const files = await readSources(root)
  const parts = new Set(files.map((file) => file.part))
  return [
    ...rowFaults(table, parts),
    ...importFaults(files, table),
    ...idlePermissions(files, table, parts),
    ...circles(table).map((circle) => `the table lets imports run in a circle: ${circle.join(' → ')}`),
    ...circles(fileGraph(files)).map((circle) => `imports run in a circle: ${circle.join(' → ')}`),
  ]
}

export function readTable(page: string): ImportTable {
  const lines = page.split('\n')
  const header = lines.findIndex((line) => /^\|\s*folder\s*\|\s*what it is\s*\|\s*may import\s*\|/.test(line))
  if (header === -1) throw new Error('docs/architecture.md has no table "folder | what it is | may import"')
  const end = lines.findIndex((line, index) => index > header && !line.startsWith('|'))
  const rows = lines.slice(header + 2, end === -1 ? undefined : end)
  return new Map(
    rows.map((row) => {
      const cells = row.split('|').map((cell) => cell.trim())
      return [names(cells[1])[0] ?? '', new Set(names(cells[3]))] as const
    }),
  )
}

/** What stands in backticks. */
function names(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

async function readSources(root: string): Promise<SourceFile[]> {
  const server = join(root, 'server')
  const entries = await readdir(server, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !isForTests(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
  return Promise.all(
    paths.map(async (path) => ({
      path,
      part: partOf(path),
      imports: importedBy(path, await readFile(join(root, path), 'utf8')),
    })),
  )
}

/** Tests, their fixtures and their helpers may import anything, and nothing of the service imports them. */
function isForTests(path: string): boolean {
  return /(^test-.*|\.test|^fixtures)\.ts$/.test(basename(path))
}

/** `server/hooks/routes.ts` → `hooks`, `server/app.ts` → `app.ts`. */
function partOf(path: string): string {
  const inside = relative('server', path)
  return inside.includes('/') ? dirname(inside) : inside
}

/** Import and re-export statements, `import(…)` of a plain text, types included; packages are left out. */
const SPECIFIERS = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
]

function importedBy(path: string, source: string): string[] {
  const specifiers = SPECIFIERS.flatMap((pattern) => [...source.matchAll(pattern)].map((match) => match[1]!))
  return [...new Set(specifiers.flatMap((specifier) => resolveImport(path, specifier) ?? []))]
}

/** As package.json resolves them: `#test/…` is test/…, every other `#…` is server/…. */
function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('#test/')) return specifier.slice(1)
  if (specifier.startsWith('#')) return `server/${specifier.slice(1)}`
  if (specifier.startsWith('.')) return relative('/', resolve('/', dirname(from), specifier))
  return undefined
}

function rowFaults(table: ImportTable, parts: Set<string>): string[] {
  const missing = [...parts].filter((part) => !table.has(part))
  const gone = [...table.keys()].filter((part) => !parts.has(part))
  return [
    ...missing.map((part) => `server/${part} has no row in docs/architecture.md`),
    ...gone.map((part) => `docs/architecture.md has a row for ${part}, which is not under server/`),
  ]
}

function importFaults(files: SourceFile[], table: ImportTable): string[] {
  return files.flatMap(({ path, part, imports }) =>
    imports.flatMap((imported) => {
      if (!imported.startsWith('server/')) return `${path} imports ${imported}, which is outside server/`
      if (isForTests(imported)) return `${path} imports ${imported}, which is for tests only`
      const other = partOf(imported)
      const allowed = other === part || !table.has(part) || table.get(part)!.has(other)
      return allowed ? [] : `${path} imports ${imported}: ${part} may not import ${other}`
    }),
  )
}

function idlePermissions(files: SourceFile[], table: ImportTable, parts: Set<string>): string[] {
  return [...table].flatMap(([part, allowed]) => {
    if (!parts.has(part)) return []
    const own = files.filter((file) => file.part === part)
    const used = new Set(own.flatMap((file) => file.imports.map(partOf)))
    return [...allowed]
      .filter((other) => !used.has(other))
      .map((other) => `docs/architecture.md lets ${part} import ${other}, but nothing there does`)
  })
}

type Graph = Map<string, Iterable<string>>

function fileGraph(files: SourceFile[]): Graph {
  return new Map(files.map((file) => [file.path, file.imports]))
}

/** One circle for each way back that a walk through the whole graph meets; the last name is the first again. */
function circles(graph: Graph): string[][] {
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
  const faults = await checkImports(join(import.meta.dirname, '..'))
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
}
