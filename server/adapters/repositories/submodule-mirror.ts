import { createHash } from 'node:crypto'
import { readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Remote } from './address.ts'
import { inspectObjects } from './commits.ts'
import { type AllowRemote, type Contact, contactRemote } from './contact.ts'
import type { FetchFailure } from './failures.ts'
import { compactMirror, type Fetch, fetchInto, isMirrorOf, type Mirror, refreshMirror } from './mirror.ts'
import { removeStale } from './remove-stale.ts'
import { hostOf, isSameHost, loginFor } from './submodule-address.ts'

// The mirrors of submodules are below that of the application: one per repository, removed with the application, changed
// only by the holder of its lock.

/** `login`: at the repository of the application, `own`. */
export type SubmoduleContext = Pick<Contact, 'login' | 'folder' | 'timeouts' | 'signal' | 'onLine'> & {
  applicationId: number
  own: Remote
  mirror: Mirror
  allowRemote: AllowRemote
  /** For the repository and its submodules together. */
  maxBytes: number
}

/**
 * always: hosts are contacted even for known commits, so that a mirror gives access to nothing that its host no longer
 * shows. missing: known commits are taken from the mirror. never: others are `missing`.
 */
export type Ask = 'always' | 'missing' | 'never'

export type FetchedSubmodule =
  | { kind: 'ready' }
  | { kind: 'missing' }
  /** `temporary`: a retry may succeed. The message continues a sentence about the submodule. */
  | { kind: 'failed'; message: string; temporary: boolean }

const UNUSED_MS = 30 * 24 * 60 * 60 * 1_000

export function submoduleMirror(mirror: Mirror, address: string): Mirror {
  const name = createHash('sha256').update(address).digest('hex').slice(0, 32)
  const folder = join(submodulesFolder(mirror), name)
  return { ...mirror, folder, repository: join(folder, 'mirror.git') }
}

const submodulesFolder = ({ folder }: Mirror) => join(folder, 'submodules')

/** `used` are the addresses of all submodules of the release so far, with this one. */
export async function fetchSubmodule(
  context: SubmoduleContext,
  { remote, hash }: { remote: Remote; hash: string },
  ask: Ask,
  used: ReadonlySet<string>,
): Promise<FetchedSubmodule> {
  const { own, maxBytes, onLine } = context
  const mirror = submoduleMirror(context.mirror, remote.address)
  const isKnown = await hasCommit(mirror, remote, hash, context.signal)
  if (isKnown && ask !== 'always') return markUsed(mirror)
  if (ask === 'never') return { kind: 'missing' }
  const access = loginFor(remote, own, context.login)
  if (access.kind === 'refused') return failed(access.message)
  const verdict = await context.allowRemote(remote, context.applicationId)
  if (verdict.kind === 'refused') return failed(verdict.message)
  const offline = async (message: string): Promise<FetchedSubmodule> => {
    if (!isKnown) return failed(message, true)
    onLine(`${message} Using the commit from the mirror, fetched earlier`)
    return markUsed(mirror)
  }
  if (verdict.kind === 'unreachable') return offline(verdict.message)
  const leftBytes = maxBytes - (await totalBytes(context.mirror, used))
  if (leftBytes <= 0) return failed(tooLarge(maxBytes))
  onLine(`Fetching ${remote.address}`)
  const { login } = access
  const { addresses = [] } = verdict
  const limits = { fileBytes: leftBytes, memoryBytes: null }
  const contact = { ...context, remote, login, addresses, limits, knownHosts: mirror.knownHosts }
  const outcome = await contactRemote(contact, (fetch) => fetchCommit(mirror, fetch, hash))
  switch (outcome.kind) {
    case 'unconnected':
      return offline(outcome.message)
    case 'absent-commit':
      return failed(
        `${remote.address} does not have its commit ${hash}. Push that commit, or update the submodule.`,
      )
    case 'fetched':
      return (await totalBytes(context.mirror, used)) > maxBytes
        ? discard(mirror, tooLarge(maxBytes))
        : markUsed(mirror)
    case 'failure': {
      const { failure } = outcome
      if (failure.problem === 'too_large') return discard(mirror, tooLarge(maxBytes))
      if (failure.kind === 'unreachable') return offline(failure.message)
      return failed(`${failure.message}${withheld(context, remote, failure)}`, failure.kind === 'disk')
    }
  }
}

type Outcome = { kind: 'fetched' } | { kind: 'absent-commit' } | { kind: 'failure'; failure: FetchFailure }

async function fetchCommit(mirror: Mirror, fetch: Fetch, hash: string): Promise<Outcome> {
  const { remote, signal } = fetch
  const failure = await refreshMirror(mirror, fetch)
  if (failure) return { kind: 'failure', failure }
  if (!(await hasCommit(mirror, remote, hash, signal))) {
    // On no branch: most hosts still serve it.
    const failure = await fetchInto(mirror.repository, fetch, [hash])
    if (failure && failure.kind !== 'unknown') return { kind: 'failure', failure }
    if (!(await hasCommit(mirror, remote, hash, signal))) return { kind: 'absent-commit' }
  }
  await compactMirror(mirror, signal)
  return { kind: 'fetched' }
}

async function hasCommit(mirror: Mirror, { address }: Remote, hash: string, signal: AbortSignal) {
  if (!(await isMirrorOf(mirror, address))) return false
  const [object] = await inspectObjects({ repository: mirror.repository, signal }, [hash])
  return object?.type === 'commit'
}

/** Explains why a private repository is closed although the application has a credential. */
function withheld({ own, login }: SubmoduleContext, remote: Remote, { kind, problem }: FetchFailure): string {
  const hasLogin = login.token !== null || login.sshKey !== null
  const isClosed = kind === 'absent' || problem === 'authentication'
  if (!isClosed || !hasLogin || isSameHost(remote, own)) return ''
  return ` The application's credential is sent to ${hostOf(own)} only.`
}

const tooLarge = (maxBytes: number) =>
  `The repository and its submodules together are larger than ${Math.floor(maxBytes / 1024 / 1024)} MiB (GANTRY_MAX_SOURCE).`

/** What git has fetched until then would only take up space. */
async function discard(mirror: Mirror, message: string): Promise<FetchedSubmodule> {
  await rm(mirror.folder, { recursive: true, force: true })
  return failed(message)
}

async function totalBytes(mirror: Mirror, addresses: ReadonlySet<string>): Promise<number> {
  const mirrors = [mirror, ...[...addresses].map((address) => submoduleMirror(mirror, address))]
  const sizes = await Promise.all(mirrors.map(({ repository }) => sizeOf(repository)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Of all files below. Those that git replaces meanwhile do not count. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const states = await Promise.all(files.map((file) => stat(file).catch(() => ({ size: 0 }))))
  return states.reduce((sum, { size }) => sum + size, 0)
}

async function markUsed({ folder }: Mirror): Promise<FetchedSubmodule> {
  const now = new Date()
  await utimes(folder, now, now)
  return { kind: 'ready' }
}

/** Mirrors that no release has used for a while: the submodule was removed, or has another URL now. */
export async function removeUnused(mirror: Mirror): Promise<void> {
  await removeStale(submodulesFolder(mirror), { olderThanMs: UNUSED_MS })
}

const failed = (message: string, temporary = false) => ({ kind: 'failed' as const, message, temporary })
