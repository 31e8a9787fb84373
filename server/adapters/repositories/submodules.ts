import type { Remote } from './address.ts'
import { invalidateMirror } from './mirror.ts'
import { quote } from './source.ts'
import { readSubmoduleUrl } from './submodule-address.ts'
import { type Link, listLinks, readLinks } from './submodule-links.ts'
import {
  type Ask,
  fetchSubmodule,
  removeUnused,
  type SubmoduleContext,
  submoduleMirror,
} from './submodule-mirror.ts'
import { concerns, readFolder, type Submodule } from './submodule-paths.ts'

// The submodules of a commit, and theirs. All of them are found before anything is sent to a server.

export type FoundSubmodules =
  | { kind: 'found'; submodules: Submodule[]; lines: string[] }
  /** A commit is not in its mirror, and hosts were not to be contacted. */
  | { kind: 'missing' }
  | { kind: 'failed'; message: string; temporary: boolean }

export type SubmoduleSearch = {
  /** The commit of the application. */
  hash: string
  /** What is outside is not fetched. */
  rootDirectory: string | null
  ask: Ask
  /** Called before each of them is fetched, with its path. */
  onNext(path: string): void
}

const MAX_DEPTH = 5
const MAX_SUBMODULES = 50
const MAX_NAMED = 10

/** A repository whose submodules are to be found. */
type Parent = { remote: Remote; repository: string; hash: string; path: string; above: string[] }

/** Call it under the application's lock, unless it asks never. */
export async function findSubmodules(
  context: SubmoduleContext,
  search: SubmoduleSearch,
): Promise<FoundSubmodules> {
  const { own, mirror } = context
  const found: Submodule[] = []
  const lines: string[] = []
  const isWanted = inRoot(search.rootDirectory)
  const parents: Parent[] = [
    { remote: own, repository: mirror.repository, hash: search.hash, path: '', above: [] },
  ]
  for (const parent of parents) {
    const read = await readLinks(
      { repository: parent.repository, signal: context.signal },
      parent.hash,
      (path) => isWanted(below(parent.path, path)),
    )
    if (read.kind === 'broken') return unreadable(context, search, parent)
    if (read.kind === 'invalid') return failed(inside(parent, read.message))
    const wanted = read.links.filter(({ isOptional }) => !isOptional)
    const tooMany = wanted[MAX_SUBMODULES - found.length]
    if (tooMany) return failed(cannotFetch(below(parent.path, tooMany.path), TOO_MANY))
    for (const link of read.links) {
      const path = below(parent.path, link.path)
      if (link.isOptional) {
        lines.push(`The submodule ${quote(path)} is not fetched: .gitmodules says update = none`)
        continue
      }
      const added = await addSubmodule(context, search, parent, link, found)
      if (added.kind !== 'added') return added
      parents.push(added.parent)
      lines.push(`The submodule ${quote(path)} is at ${link.hash.slice(0, 8)}`)
    }
  }
  if (search.ask !== 'never') await removeUnused(mirror)
  return { kind: 'found', submodules: found, lines }
}

type Added = { kind: 'added'; parent: Parent } | Exclude<FoundSubmodules, { kind: 'found' }>

async function addSubmodule(
  context: SubmoduleContext,
  { ask, onNext }: SubmoduleSearch,
  parent: Parent,
  { path: ownPath, hash, url }: Link,
  found: Submodule[],
): Promise<Added> {
  const path = below(parent.path, ownPath)
  const above = [...parent.above, parent.remote.address]
  const fail = (message: string, temporary = false) => failed(cannotFetch(path, message), temporary)
  if (above.length > MAX_DEPTH) return fail(new Set(above).size < above.length ? LOOP : TOO_DEEP)
  if (url === null) return fail(NO_URL)
  const read = readSubmoduleUrl(url, parent.remote, context.own)
  if (read.kind === 'refused') return fail(read.message)
  const { remote } = read
  const isAsked = found.some(({ address }) => address === remote.address)
  found.push({ path, hash, address: remote.address })
  onNext(path)
  const used = new Set(found.map(({ address }) => address))
  const asks = ask === 'always' && isAsked ? 'missing' : ask
  const fetched = await fetchSubmodule(context, { remote, hash }, asks, used)
  if (fetched.kind === 'failed') return fail(fetched.message, fetched.temporary)
  if (fetched.kind === 'missing') return fetched
  const { repository } = submoduleMirror(context.mirror, remote.address)
  return { kind: 'added', parent: { remote, repository, hash, path, above } }
}

const TOO_MANY = `A release can have at most ${MAX_SUBMODULES} submodules, nested ones included.`
const TOO_DEEP = `Submodules can be nested at most ${MAX_DEPTH} levels deep.`
const LOOP = `${TOO_DEEP} A repository on the way there contains itself.`
const NO_URL =
  'The file .gitmodules has no URL for this path: add it there, or remove the submodule with git rm --cached.'

/** Its mirror lost something: the next fetch recreates it. */
async function unreadable(
  { mirror }: SubmoduleContext,
  { ask }: SubmoduleSearch,
  parent: Parent,
): Promise<FoundSubmodules> {
  if (ask === 'never') return { kind: 'missing' }
  await invalidateMirror(parent.path === '' ? mirror : submoduleMirror(mirror, parent.remote.address))
  return failed(inside(parent, 'Git could not read all files: the next fetch recreates the mirror.'), true)
}

/** For people: what ships as empty folders when submodules are ignored. Undefined without submodules. */
export async function describeIgnored(
  { mirror, signal }: Pick<SubmoduleContext, 'mirror' | 'signal'>,
  { hash, rootDirectory }: Pick<SubmoduleSearch, 'hash' | 'rootDirectory'>,
): Promise<string | undefined> {
  const tree = await listLinks({ repository: mirror.repository, signal }, hash)
  const paths = (tree?.links ?? []).map(({ path }) => path).filter(inRoot(rootDirectory))
  if (paths.length === 0) return undefined
  const named = paths.slice(0, MAX_NAMED).map(quote)
  if (paths.length > MAX_NAMED) named.push(`and ${paths.length - MAX_NAMED} more`)
  return (
    `Warning: submodules are not fetched, so these folders are empty: ${named.join(', ')}. ` +
    'To deploy their files, set submodules to fetch in the settings of the application.'
  )
}

/** A root directory that is none is explained when its files are read. */
function inRoot(rootDirectory: string | null): (path: string) => boolean {
  const root = readFolder(rootDirectory ?? '') ?? ''
  return (path) => concerns(root, path)
}

const below = (parent: string, path: string) => (parent === '' ? path : `${parent}/${path}`)

const cannotFetch = (path: string, message: string) =>
  `The submodule ${quote(path)} cannot be fetched. ${message}`

const inside = ({ path }: Parent, message: string) => (path === '' ? message : cannotFetch(path, message))

const failed = (message: string, temporary = false) => ({ kind: 'failed' as const, message, temporary })
