// What local commands must not see: Gantry's home, its own files, and the database's socket. Under an ordinary
// account the commands have the same account as Gantry, so only what is mounted over these folders protects them.

import { lstat, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where Gantry keeps what a command must not see. */
export type Secrets = {
  /** GANTRY_HOME. It exists. */
  home: string
  /** How Gantry reaches its database; null over TCP. */
  socket: { folder: string; port: number } | null
}

/**
 * A folder or file to hide, by its real path. `id` tells whether it is still the same one: a command may be able to
 * rename a folder above it, and create another one there. An alias is another path of the same, if it is one.
 */
export type Hidden = { path: string; id: string; isFolder: boolean; isSocket?: boolean; isAlias?: boolean }

/** The view of the file system that the commands of one server get. */
export type View = {
  hidden: readonly Hidden[]
  /** The root of the server, if it is in a hidden folder: `source` is mounted there. */
  root: { path: string; source: string; id: string } | null
}

const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

/** Entries of the home that no server may have its root in. */
const OWN_ENTRIES = [
  'postgres',
  'postgres.unfinished',
  'repositories',
  'cache',
  'secret.key',
  'secret.key.retired',
]

/** Entries of the checkout that no server may have its root in. */
const CHECKOUT_ENTRIES = [
  'server',
  'client',
  'cli',
  'web',
  'node_modules',
  'scripts',
  'deploy',
  'docs',
  'test',
  'bench',
  '.git',
  '.ci',
]

/** Too many programs need these to hide them for the sake of one socket. */
const SHARED_FOLDERS = [
  '/',
  '/tmp',
  '/var/tmp',
  '/run',
  '/var/run',
  '/dev',
  '/dev/shm',
  '/var',
  '/var/lib',
  '/usr',
]

/** Each command gets its own; what it writes there is removed when it ends. */
const OF_EACH_COMMAND = ['/dev/shm', '/dev/pts', '/dev/mqueue']

/** D-Bus and systemd of logged-in users: they start programs outside of any isolation. */
const SESSIONS = '/run/user'

/** Call once: what is found is compared with what is there when a view is made. */
export async function findHidden({ home, socket }: Secrets): Promise<Hidden[]> {
  const own = OWN_ENTRIES.map((name) => join(home, name))
  const paths = [home, CHECKOUT, SESSIONS, ...own, ...(socket ? await pathsOfSocket(socket) : [])]
  const found = await Promise.all(paths.map(identify))
  return found.filter((one) => one !== undefined && one.path !== '/').map((one) => one!)
}

/** The folder and, where a link leads to it, the folder of the link: another link there would lead elsewhere. */
async function pathsOfSocket({ folder, port }: NonNullable<Secrets['socket']>): Promise<string[]> {
  const real = await realpath(folder).catch(() => folder)
  const isLink = (await lstat(folder).catch(() => undefined))?.isSymbolicLink() === true
  const file = join(real, `.s.PGSQL.${port}`)
  const paths = [SHARED_FOLDERS.includes(real) ? file : real]
  if (isLink && !SHARED_FOLDERS.includes(dirname(folder))) paths.push(dirname(folder))
  return paths
}

async function identify(path: string): Promise<Hidden | undefined> {
  try {
    const real = await realpath(path)
    const entry = await stat(real)
    const kind = { isFolder: entry.isDirectory(), ...(entry.isSocket() && { isSocket: true }) }
    return { path: real, id: `${entry.dev}:${entry.ino}`, ...kind }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Pure. Without duplicates, and without what is inside of another. */
export function outermost(hidden: readonly Hidden[]): Hidden[] {
  const unique = hidden.filter(({ path }, at) => hidden.findIndex((one) => one.path === path) === at)
  return unique.filter(({ path }) => !unique.some((one) => one.isFolder && isBelow(path, one.path)))
}

export type RefusedRoot = { kind: 'refused'; message: string }

/** The view for a server with this root, or for none. */
export async function viewFor(
  { home }: Pick<Secrets, 'home'>,
  hidden: readonly Hidden[],
  root: string | null,
): Promise<View | RefusedRoot> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  // A database that was restarted has another socket.
  const now = await Promise.all(hidden.map((one) => (one.isSocket ? identify(one.path) : one)))
  const present = now.filter((one) => one !== undefined)
  const everywhere = hideEverywhere(hidden, present, mounts)
  if (root === null) return { hidden: everywhere, root: null }
  const placed = await locateRoot({ home }, hidden, root)
  if (placed.kind !== 'hidden') return placed.kind === 'visible' ? { hidden: everywhere, root: null } : placed
  const source = await identify(placed.source)
  if (!source) return { kind: 'refused', message: `${root} does not exist and cannot be created` }
  if (!source.isFolder) return { kind: 'refused', message: `${root} is not a folder` }
  return { hidden: everywhere, root: { path: placed.path, source: placed.source, id: source.id } }
}

/** The last result for each list: most often nothing has been mounted since, and no socket is another. */
const lastHidden = new WeakMap<readonly Hidden[], { key: string; everywhere: Hidden[] }>()

function hideEverywhere(all: readonly Hidden[], present: readonly Hidden[], mounts: string): Hidden[] {
  const key = JSON.stringify([mounts, present.map(({ path, id }) => [path, id])])
  const last = lastHidden.get(all)
  if (last?.key === key) return last.everywhere
  const aliasesOf = (one: Hidden) =>
    otherPathsOf(mounts, one.path).map((path) => ({ ...one, path, isAlias: true }))
  const everywhere = outermost(present.flatMap((one) => [one, ...aliasesOf(one)]))
  lastHidden.set(all, { key, everywhere })
  return everywhere
}

/** Whether a server may have this root, which need not exist yet. */
export async function locateRoot({ home }: Pick<Secrets, 'home'>, hidden: readonly Hidden[], root: string) {
  const [realHome, real] = [await realpath(home), await realpathOfAny(root)]
  return placeRoot({ hidden, home, realHome, root, real })
}

type Placement = { kind: 'visible' } | { kind: 'hidden'; path: string; source: string } | RefusedRoot

/**
 * Pure. A root in a hidden folder is shown, and nothing else of that folder; but only where no command can have replaced
 * it by a link to what is hidden: `real` is where the root really is.
 */
export function placeRoot(where: {
  hidden: readonly Hidden[]
  home: string
  realHome: string
  root: string
  real: string
}): Placement {
  const { hidden, home, realHome, root, real } = where
  const isHidden = (one: string) => hidden.some(({ path: folder }) => one === folder || isBelow(one, folder))
  const path = isBelow(root, home) ? join(realHome, relative(home, root)) : root
  if (OF_EACH_COMMAND.some((folder) => real === folder || isBelow(real, folder)))
    return { kind: 'refused', message: `each step has its own ${root}: set another root_directory` }
  if (!isHidden(path)) return isHidden(real) ? refused(root) : { kind: 'visible' }
  const own = [
    ...OWN_ENTRIES.map((name) => join(realHome, name)),
    ...CHECKOUT_ENTRIES.map((name) => join(CHECKOUT, name)),
  ]
  const mayBeShown =
    (isBelow(path, realHome) || isBelow(path, CHECKOUT)) &&
    path !== realHome &&
    !own.some((entry) => path === entry || isBelow(path, entry) || isBelow(entry, path))
  // Not the path itself: a link that only Gantry's account can have made, to a folder that is visible anyway.
  return mayBeShown && (real === path || !isHidden(real))
    ? { kind: 'hidden', path, source: real }
    : refused(root)
}

function refused(root: string): RefusedRoot {
  return {
    kind: 'refused',
    message: `${root} belongs to Gantry itself or leads there through a link: set another root_directory`,
  }
}

/**
 * Pure. Where else the same files are mounted, from /proc/self/mountinfo: a bind mount, or a second mount of the
 * same file system, would show what is hidden here.
 */
export function otherPathsOf(mountinfo: string, path: string): string[] {
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ')
    return root && point ? [{ device, root: unescaped(root), point: unescaped(point) }] : []
  })
  // The last mount with the longest path is the one that is seen.
  const own = mounts
    .filter(({ point }) => point === path || isBelow(path, point))
    .reduce<(typeof mounts)[number] | undefined>(
      (best, one) => (best && best.point.length > one.point.length ? best : one),
      undefined,
    )
  if (!own) return []
  const inside = join(own.root, relative(own.point, path))
  return mounts
    .filter(({ device, root }) => device === own.device && (root === inside || isBelow(inside, root)))
    .map(({ root, point }) => join(point, relative(root, inside)))
    .filter((other) => other !== path)
}

function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)))
}

/** Where the path leads, even if its last parts do not exist yet. */
async function realpathOfAny(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realpathOfAny(parent), basename(path))
  }
}

/** Strictly. */
export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way)
}
