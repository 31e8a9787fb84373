import { inspectObjects } from './commits.ts'
import { type Repo, readGit, runGit } from './git.ts'
import { readFields } from './read-fields.ts'
import { quote } from './source.ts'

// Which submodules a commit has. Their paths and commits come from its tree, where git allows no `..` and nothing below a
// link; `.gitmodules` only adds the URLs.

export type Link = {
  /** Below the top folder of the repository. */
  path: string
  /** The commit of the submodule. */
  hash: string
  /** As in `.gitmodules`; null without an entry. */
  url: string | null
  /** `update = none`: git does not check it out either, unless it is asked to. */
  isOptional: boolean
}

export type ReadLinks =
  | { kind: 'links'; links: Link[] }
  | { kind: 'invalid'; message: string }
  /** Git cannot read the commit. */
  | { kind: 'broken' }

const MAX_PATH_BYTES = 4_096
const MAX_FIELD_BYTES = 2 * MAX_PATH_BYTES

/** `isWanted` says which paths matter. */
export async function readLinks(
  repo: Repo,
  hash: string,
  isWanted: (path: string) => boolean,
): Promise<ReadLinks> {
  const tree = await listLinks(repo, hash)
  if (!tree) return BROKEN
  const wanted = tree.links.filter(({ path }) => isWanted(path))
  if (wanted.length === 0) return { kind: 'links', links: [] }
  for (const { path } of wanted) {
    const problem = pathProblem(path, tree.symlinks)
    if (problem)
      return { kind: 'invalid', message: `The submodule ${quote(path)} has a path that ${problem}.` }
  }
  const entries = await readGitmodules(repo, hash)
  if (!entries) return { kind: 'invalid', message: 'Git cannot read the file .gitmodules of the commit.' }
  const links = wanted.map((link) => {
    const { url = null, update } = entries.get(link.path) ?? {}
    return { ...link, url, isOptional: update === 'none' }
  })
  return { kind: 'links', links }
}

type Tree = { links: { path: string; hash: string }[]; symlinks: string[] }

const SUBMODULE = '160000'
const SYMLINK = '120000'

/** Undefined when git cannot read the tree. Trees may be large: nothing else is kept. */
export async function listLinks(repo: Repo, hash: string): Promise<Tree | undefined> {
  const tree: Tree = { links: [], symlinks: [] }
  const args = ['ls-tree', '-r', '-z', '--full-tree', hash]
  const { code } = await runGit({ ...repo, args }, async (output) => {
    for await (const fields of readFields(output, MAX_FIELD_BYTES))
      for (const field of fields) {
        const [, mode, object, path] = /^(\d{6}) \w+ ([0-9a-f]{40,64})\t([\s\S]+)$/.exec(field) ?? []
        if (mode === SUBMODULE) tree.links.push({ path: path!, hash: object! })
        if (mode === SYMLINK) tree.symlinks.push(path!)
      }
  })
  return code === 0 ? tree : undefined
}

type Entry = { path?: string; url?: string; update?: string }

/** By path. Undefined when it is not what git writes. */
async function readGitmodules(repo: Repo, hash: string): Promise<Map<string, Entry> | undefined> {
  const [file] = await inspectObjects(repo, [`${hash}:.gitmodules`])
  if (file?.type !== 'blob') return new Map()
  const keys = String.raw`^submodule\..*\.(path|url|update)$`
  const args = ['config', '--no-includes', '-z', '--blob', file.hash, '--get-regexp', keys]
  const { code, output } = await readGit({ ...repo, args })
  // 1: no such key.
  return code === 0 || code === 1 ? parseEntries(output) : undefined
}

/** What `git config -z` prints: `submodule.<name>.<key>`, a line break, the value, NUL. Of equal ones the last counts. Pure. */
export function parseEntries(output: string): Map<string, Entry> {
  const named = new Map<string, Entry>()
  for (const text of output.split('\0')) {
    const [, name, key, value] = /^submodule\.(.*)\.(path|url|update)\n([\s\S]*)$/.exec(text) ?? []
    if (name !== undefined) named.set(name, { ...named.get(name), [key!]: value! })
  }
  return new Map([...named.values()].flatMap((entry) => (entry.path ? [[entry.path, entry]] : [])))
}

/** Git rejects such trees when they are fetched. What is unpacked on servers does not depend on that alone. Pure. */
export function pathProblem(path: string, symlinks: readonly string[]): string | undefined {
  const parts = path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'leads out of the repository'
  if (parts.some((part) => /^\.git$/i.test(part))) return 'contains .git'
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return 'is too long'
  // U+FFFD: it is not UTF-8.
  if (/[\0-\x1f\x7f\ufffd]/.test(path)) return 'contains characters that are not allowed'
  const folded = `${fold(path)}/`
  const link = symlinks.find((one) => folded.startsWith(`${fold(one)}/`))
  return link === undefined ? undefined : `goes through the symbolic link ${quote(link)}`
}

/** Names that are the same to a server whose file system ignores case. */
const fold = (path: string) => path.normalize('NFC').toLowerCase()

const BROKEN: ReadLinks = { kind: 'broken' }
