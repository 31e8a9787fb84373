import { mkdir, mkdtempDisposable, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { tryLock } from '#platform/file-lock.ts'
import { explainFetch, explainLimited, type FetchContext, type FetchFailure } from './failures.ts'
import { type Limits, readGit } from './git.ts'

// The bare mirror of one application's repository: branches and tags, nothing else. A new one is created next to it
// and renamed, so that a mirror was complete once. Changed only by the holder of the application's lock.

export type Mirror = ReturnType<typeof mirrorFor>

export type Fetch = FetchContext & {
  environment: Record<string, string>
  /** For git while it fetches. */
  limits?: Limits
  signal: AbortSignal
  onLine(text: string): void
}

/** Undefined: it was fetched. */
type Fetched = FetchFailure | undefined

const FETCH_OPTIONS = [
  '--progress', // a git whose reader was killed ends with the next output
  '--prune',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
]
const BRANCHES_AND_TAGS = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
const ADDRESS_FILE = 'gantry-address'
/** As in git.config. */
const MAX_PACKS = 20

/** `folder` is that of the application: the mirror, drafts of it, known hosts. */
export function mirrorFor(mirrors: string, applicationId: number) {
  if (!Number.isSafeInteger(applicationId) || applicationId < 1)
    throw new Error('not the id of an application')
  const folder = join(mirrors, String(applicationId))
  return { folder, repository: join(folder, 'mirror.git'), knownHosts: join(folder, 'known-hosts') }
}

/** Whether there is a mirror of this address: an application may have switched to another repository. */
export async function isMirrorOf({ repository }: Mirror, address: string): Promise<boolean> {
  return (await readFile(join(repository, ADDRESS_FILE), 'utf8').catch(() => undefined)) === address
}

/** For a corrupt mirror: the next fetch recreates it. Readers are not disturbed. */
export async function invalidateMirror({ repository }: Mirror): Promise<void> {
  await rm(join(repository, ADDRESS_FILE), { force: true })
}

export async function refreshMirror(mirror: Mirror, fetch: Fetch): Promise<Fetched> {
  await removeLeftovers(mirror)
  if (!(await isMirrorOf(mirror, fetch.remote.address))) return createMirror(mirror, fetch)
  const failure = await fetchInto(mirror.repository, fetch)
  if (failure?.kind !== 'unknown' && failure?.kind !== 'hashes') return failure
  fetch.onLine('The mirror cannot be updated: recreating it')
  return createMirror(mirror, fetch)
}

export async function createMirror(
  mirror: Mirror,
  fetch: Fetch,
  hashes: 'sha1' | 'sha256' = 'sha1',
): Promise<Fetched> {
  await mkdir(mirror.folder, { recursive: true, mode: 0o700 })
  await using draft = await mkdtempDisposable(join(mirror.folder, 'draft-'))
  const failure = (await initialize(draft.path, fetch, hashes)) ?? (await fetchInto(draft.path, fetch))
  if (!failure) await replaceMirror(mirror, draft.path)
  if (failure?.kind !== 'hashes' || hashes === 'sha256') return failure
  return await createMirror(mirror, fetch, 'sha256')
}

async function initialize(draft: string, fetch: Fetch, hashes: string): Promise<Fetched> {
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${hashes}`]
  const { code, errors } = await readGit({ args, repository: draft, signal: fetch.signal })
  if (code !== 0) return explainFetch(errors, fetch)
  await mkdir(join(draft, 'info'), { recursive: true })
  // A deploy uses every file of the commit, as committed.
  await writeFile(join(draft, 'info', 'attributes'), '* -export-ignore -export-subst\n')
  await writeFile(join(draft, ADDRESS_FILE), fetch.remote.address)
}

async function replaceMirror(mirror: Mirror, draft: string): Promise<void> {
  const discarded = join(mirror.folder, `discarded-${draft.slice(-6)}`)
  await rename(mirror.repository, discarded).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(draft, mirror.repository)
  await rm(discarded, { recursive: true, force: true })
}

/** Left by killed processes: half created or half removed. */
async function removeLeftovers({ folder }: Mirror): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const leftovers = names.filter((name) => /^(draft|discarded)-/.test(name))
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}

/** Branches and tags, or one commit: no branch points to it, and it stays as long as other unreachable commits. */
export async function fetchInto(repository: string, fetch: Fetch, refs = BRANCHES_AND_TAGS) {
  const { remote, environment, limits, signal } = fetch
  const fetchFrom = async (address: string): Promise<Fetched> => {
    const args = ['fetch', ...FETCH_OPTIONS, '--end-of-options', address, ...refs]
    const { code, errors } = await readGit({ args, repository, environment, limits, signal })
    return code === 0 ? undefined : (limits ? explainLimited : explainFetch)(errors, fetch)
  }
  const failure = await fetchFrom(remote.address)
  const suffixed = failure?.kind === 'moved' ? withSuffix(remote) : undefined
  return suffixed === undefined ? failure : (await fetchFrom(suffixed)) && failure
}

/**
 * GitLab redirects to the name with `.git`; that can be followed without trusting the host. Undefined when the
 * address has the suffix, or no host that redirects.
 */
export function withSuffix({ protocol, address }: FetchContext['remote']): string | undefined {
  const mayLackSuffix = protocol.startsWith('http') && !/\.git\/?$/.test(address)
  return mayLackSuffix ? `${address.replace(/\/+$/, '')}.git` : undefined
}

/** Every fetch that brings something adds a pack; now and then git merges them and removes unused objects. */
export async function compactMirror({ repository }: Mirror, signal: AbortSignal): Promise<void> {
  const files = await readdir(join(repository, 'objects', 'pack')).catch(() => [])
  if (files.filter((file) => file.endsWith('.pack')).length <= MAX_PACKS) return
  await readGit({ args: ['gc', '--auto', '--quiet'], repository, signal })
}

const LOCK_POLL_MS = 25

/** One at a time per application, across processes. Waits until the signal aborts, then throws its reason. */
export async function withLock<Result>(
  folder: string,
  applicationId: number,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // The empty file stays forever: removing it would separate those who wait from those who come.
  const path = join(folder, `${applicationId}.lock`)
  let free = tryLock(path)
  while (!free) {
    await pause(LOCK_POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    free = tryLock(path)
  }
  using _lock = free
  return await work()
}
