import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { explainFetch, type FetchContext, type FetchFailure } from './failures.ts'
import { askGit } from './git.ts'

// The bare mirror of one application: its branches and tags, nothing else of the remote. A new one is made beside
// its place and renamed, so that whatever stands there was whole once. Changed only by the holder of the
// application's lock.

export type Mirror = {
  /** The folder of the application: the mirror, what is being made, known hosts. */
  folder: string
  repository: string
  knownHosts: string
}

export type Fetch = FetchContext & {
  environment: Record<string, string>
  signal: AbortSignal
  onLine(text: string): void
}

export type Fetched = { kind: 'fetched' } | FetchFailure

const FETCH_OPTIONS = [
  '--progress', // a git whose reader was killed ends when it next says something
  '--prune',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
]
const BRANCHES_AND_TAGS = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']
const ADDRESS_FILE = 'gantry-address'
/** As in git.config. */
const PACKS_KEPT = 20

export function mirrorOf(mirrors: string, applicationId: number): Mirror {
  if (!Number.isSafeInteger(applicationId) || applicationId < 1) throw new Error('no id of an application')
  const folder = join(mirrors, String(applicationId))
  return { folder, repository: join(folder, 'mirror.git'), knownHosts: join(folder, 'known-hosts') }
}

/** Whether there is a mirror, and of this address: an application may have moved to another repository. */
export async function isMirrorOf({ repository }: Mirror, address: string): Promise<boolean> {
  return readFile(join(repository, ADDRESS_FILE), 'utf8').then(
    (text) => text === address,
    () => false,
  )
}

/** For one that cannot be read to the end: the next fetch makes it anew. Readers are not disturbed. */
export async function giveUpMirror({ repository }: Mirror): Promise<void> {
  await rm(join(repository, ADDRESS_FILE), { force: true })
}

export async function refreshMirror(mirror: Mirror, fetch: Fetch): Promise<Fetched> {
  await sweep(mirror)
  if (!(await isMirrorOf(mirror, fetch.remote.address))) return makeMirror(mirror, fetch)
  const fetched = await fetchInto(mirror.repository, fetch)
  if (fetched.kind !== 'unknown' && fetched.kind !== 'hashes') return fetched
  fetch.onLine('The mirror cannot be brought up to date, and is made anew')
  return makeMirror(mirror, fetch)
}

export async function makeMirror(mirror: Mirror, fetch: Fetch): Promise<Fetched> {
  const made = await makeWith(mirror, fetch, 'sha1')
  return made.kind === 'hashes' ? makeWith(mirror, fetch, 'sha256') : made
}

async function makeWith(mirror: Mirror, fetch: Fetch, hashes: 'sha1' | 'sha256'): Promise<Fetched> {
  await mkdir(mirror.folder, { recursive: true, mode: 0o700 })
  const draft = await mkdtemp(join(mirror.folder, 'draft-'))
  try {
    const fault = await initialise(draft, fetch, hashes)
    if (fault) return fault
    const fetched = await fetchInto(draft, fetch)
    if (fetched.kind === 'fetched') await putInPlace(mirror, draft)
    return fetched
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function initialise(draft: string, fetch: Fetch, hashes: string): Promise<FetchFailure | undefined> {
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${hashes}`]
  const { code, errors } = await askGit({ args, repository: draft, signal: fetch.signal })
  if (code !== 0) return explainFetch(errors, fetch)
  await mkdir(join(draft, 'info'), { recursive: true })
  // A deploy gets every file of the commit, as committed.
  await writeFile(join(draft, 'info', 'attributes'), '* -export-ignore -export-subst\n')
  await writeFile(join(draft, ADDRESS_FILE), fetch.remote.address)
  return undefined
}

async function putInPlace(mirror: Mirror, draft: string): Promise<void> {
  const discarded = join(mirror.folder, `discarded-${draft.slice(-6)}`)
  await rename(mirror.repository, discarded).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(draft, mirror.repository)
  await rm(discarded, { recursive: true, force: true })
}

/** What a process that was killed has left half-made or half-removed. */
async function sweep({ folder }: Mirror): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const leftovers = names.filter((name) => /^(draft|discarded)-/.test(name))
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}

/** One commit alone. No branch points to it, and it stays for as long as whatever left the branches does. */
export async function fetchCommit({ repository }: Mirror, fetch: Fetch, hash: string): Promise<Fetched> {
  return fetchInto(repository, fetch, [hash])
}

async function fetchInto(repository: string, fetch: Fetch, refs = BRANCHES_AND_TAGS): Promise<Fetched> {
  const { remote } = fetch
  const fetched = await fetchFrom(remote.address, repository, fetch, refs)
  // GitLab redirects to the name with `.git`; that much can be followed without trusting the host's word.
  const mayLack = remote.protocol.startsWith('http') && !/\.git\/?$/.test(remote.address)
  if (fetched.kind !== 'moved' || !mayLack) return fetched
  const second = await fetchFrom(`${remote.address.replace(/\/+$/, '')}.git`, repository, fetch, refs)
  return second.kind === 'fetched' ? second : fetched
}

async function fetchFrom(
  address: string,
  repository: string,
  fetch: Fetch,
  refs: string[],
): Promise<Fetched> {
  const { code, errors } = await askGit({
    args: ['fetch', ...FETCH_OPTIONS, '--end-of-options', address, ...refs],
    repository,
    environment: fetch.environment,
    signal: fetch.signal,
  })
  return code === 0 ? { kind: 'fetched' } : explainFetch(errors, fetch)
}

/** Every fetch that brought something adds a pack; now and then they become one, and what nobody needs goes. */
export async function tidyMirror({ repository }: Mirror, signal: AbortSignal): Promise<void> {
  const files = await readdir(join(repository, 'objects', 'pack')).catch(() => [])
  if (files.filter((file) => file.endsWith('.pack')).length <= PACKS_KEPT) return
  await askGit({ args: ['gc', '--auto', '--quiet'], repository, signal })
}
