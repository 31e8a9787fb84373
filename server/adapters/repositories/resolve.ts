import { mkdir } from 'node:fs/promises'
import { type Patience, prepareAccess, type Token } from './access.ts'
import type { Provider, Remote } from './address.ts'
import { type CommitRecord, findCommit, readCommit } from './commits.ts'
import { tokenFits } from './credential-fits.ts'
import type { FetchFailure } from './failures.ts'
import { oneAtATime } from './lock.ts'
import {
  type Fetch,
  fetchCommit,
  isMirrorOf,
  type Mirror,
  makeMirror,
  refreshMirror,
  tidyMirror,
} from './mirror.ts'
import { findObstacle } from './reach.ts'
import { quote, type Source, type Wanted } from './source.ts'

export type ResolveRequest = {
  applicationId: number
  repository: string
  /** The credential's, when there is one: what kind of host this is, and the only one that is sent its token. */
  provider?: Provider | null
  token: Token | null
  sshKey?: string | null
  source: Source
  /**
   * The commit was resolved for an earlier run, which this one repeats: it is taken from the mirror without asking
   * the remote, and may have left all branches since.
   */
  resolvedBefore?: boolean
  agreement?: Agreement
  signal: AbortSignal
  /** What goes on, a line at a time, for the people who watch. */
  onLine(text: string): void
}

/** Between requests for the same thing: the first that finds the commit settles it, the others need no fetch. */
export type Agreement = {
  /** Asked when it is a request's turn. The whole hash; null as long as nothing is settled. */
  settled(): Promise<string | null>
  /** Told before it is the next one's turn. Returns the hash that counts: on another machine one may be faster. */
  settle(commit: CommitRecord): Promise<string>
}

export type Resolved =
  | { kind: 'resolved'; commit: CommitRecord }
  /** The repository, or the ref in it, does not exist. */
  | { kind: 'not-found'; message: string }
  /** `temporary`: the same request may succeed another time. */
  | { kind: 'failed'; message: string; temporary: boolean }

export type RemoteVerdict =
  /** `addresses`: what the host's name was resolved to when it was judged; git connects to no other. */
  | { kind: 'allowed'; addresses?: string[] }
  | { kind: 'refused'; message: string }
  /** The name cannot be resolved now. */
  | { kind: 'unreachable'; message: string }

/** One request, read and under its deadline. */
export type Work = {
  request: ResolveRequest
  remote: Remote
  wanted: Wanted
  mirror: Mirror
  /** The folder of all mirrors. */
  folder: string
  patience: Patience
  signal: AbortSignal
}

export async function resolveSource(
  work: Work,
  allowRemote: (remote: Remote, applicationId: number) => Promise<RemoteVerdict>,
): Promise<Resolved> {
  const { request, remote, folder, signal } = work
  if (isResolvedBefore(work)) {
    const known = await lookUp(work)
    if (known?.kind === 'resolved') return known
  }
  const unfit = whyTokenStays(request, remote)
  if (unfit !== undefined) return failed(unfit)
  const verdict = await allowRemote(remote, request.applicationId)
  switch (verdict.kind) {
    case 'refused':
      return failed(verdict.message)
    case 'unreachable':
      return withoutRemote(await asSettled(work), verdict.message)
    case 'allowed':
      return oneAtATime(folder, request.applicationId, signal, async () =>
        inTurn(await asSettled(work), verdict.addresses ?? []),
      )
  }
}

/** The work as it is once others have agreed on a commit, which may leave its branch at any time. */
async function asSettled(work: Work): Promise<Work> {
  const hash = await work.request.agreement?.settled()
  if (!hash) return work
  const request = { ...work.request, source: { type: 'commit' as const, ref: hash }, resolvedBefore: true }
  return { ...work, request, wanted: { kind: 'hash', digits: hash } }
}

async function inTurn(work: Work, addresses: string[]): Promise<Resolved> {
  // Whoever was here before may have fetched it.
  const known = isResolvedBefore(work) ? await lookUp(work) : undefined
  if (known?.kind === 'resolved') return known
  const found = await withRemote(work, addresses)
  const { agreement } = work.request
  if (found.kind !== 'resolved' || !agreement) return found
  const hash = await agreement.settle(found.commit)
  return hash === found.commit.hash ? found : inTurn(await asSettled(work), addresses)
}

function isResolvedBefore({ request, wanted }: Work): boolean {
  return (request.resolvedBefore ?? false) && isWholeHash(wanted)
}

/** A repository's address is edited by other people than a credential is: its token goes to its own host alone. */
function whyTokenStays({ token, provider }: ResolveRequest, remote: Remote): string | undefined {
  if (!token || !provider || !remote.protocol.startsWith('http')) return undefined
  const fit = tokenFits(provider, remote)
  return fit.kind === 'unfit' ? fit.message : undefined
}

async function withRemote(work: Work, addresses: string[]): Promise<Resolved> {
  const { request, remote, mirror, patience, signal } = work
  const { token, sshKey = null, onLine } = request
  onLine(`Fetching ${remote.address}`)
  if (token && remote.protocol === 'http')
    onLine('The address begins with http: the token travels unencrypted')
  const obstacle = await findObstacle(remote, { addresses, withinMs: patience.connectMs, signal })
  if (obstacle !== undefined) return withoutRemote(work, obstacle)
  await mkdir(mirror.folder, { recursive: true, mode: 0o700 })
  const { knownHosts } = mirror
  const access = await prepareAccess({ remote, token, sshKey, addresses, knownHosts, patience })
  try {
    return await fetchAndLookUp(work, {
      remote,
      hasCredential: remote.protocol === 'ssh' ? sshKey !== null : token !== null,
      hidden: [work.folder, token?.secret ?? ''],
      environment: access.environment,
      signal,
      onLine,
    })
  } finally {
    await access.release()
  }
}

async function fetchAndLookUp(work: Work, fetch: Fetch): Promise<Resolved> {
  const fetched = await refreshMirror(work.mirror, fetch)
  if (fetched.kind !== 'fetched') return settle(work, fetched)
  let found = await lookUp(work)
  if (!found) {
    fetch.onLine('The mirror is damaged, and is made anew')
    const made = await makeMirror(work.mirror, fetch)
    if (made.kind !== 'fetched') return settle(work, made)
    found = await lookUp(work)
  }
  if (found?.kind === 'not-found' && isResolvedBefore(work)) found = await fetchByHash(work, fetch, found)
  await tidyMirror(work.mirror, work.signal)
  return found ?? failed('The repository is damaged: git cannot read what it points to.')
}

/** It has left all branches, and this mirror was made too late to have it: most hosts still give it away. */
async function fetchByHash(work: Work, fetch: Fetch, absent: Resolved): Promise<Resolved | undefined> {
  const { ref } = work.request.source
  fetch.onLine(`The commit ${ref.slice(0, 8)} is on no branch any more: asking for it by its hash`)
  const fetched = await fetchCommit(work.mirror, fetch, ref.toLowerCase())
  return fetched.kind === 'fetched' ? lookUp(work) : absent
}

async function settle(work: Work, failure: FetchFailure): Promise<Resolved> {
  switch (failure.kind) {
    case 'absent':
      return { kind: 'not-found', message: failure.message }
    case 'unreachable':
      return withoutRemote(work, failure.message)
    case 'disk':
      return { kind: 'failed', message: failure.message, temporary: true }
    case 'refused':
    case 'moved':
    case 'hashes':
    case 'unknown':
      return failed(failure.message)
  }
}

/** A whole hash means the same for ever, so the mirror's word is good: a deploy can be repeated while a host is down. */
async function withoutRemote(work: Work, message: string): Promise<Resolved> {
  const known = isWholeHash(work.wanted) ? await lookUp(work) : undefined
  if (known?.kind !== 'resolved') return { kind: 'failed', message, temporary: true }
  work.request.onLine(`${message} The commit was fetched before, and is taken from the mirror`)
  return known
}

/** In the mirror as it stands. Undefined when that is of another repository, absent, or damaged. */
async function lookUp({ request, remote, wanted, mirror, signal }: Work): Promise<Resolved | undefined> {
  if (!(await isMirrorOf(mirror, remote.address))) return undefined
  const place = { repository: mirror.repository, signal }
  const mayBeUnreachable = request.resolvedBefore ?? false
  const found = await findCommit(place, wanted, request.source, { mayBeUnreachable })
  if (found.kind === 'not-found') return found
  if (found.kind === 'broken') return undefined
  const { repository, provider = null } = request
  const commit = await readCommit(place, found.hash, { repository, remote, provider })
  if (!commit) return undefined
  request.onLine(sayWhere(request.source, commit))
  return { kind: 'resolved', commit }
}

/** `branch main is at 1a2b3c4d: Say hello` */
function sayWhere({ type, ref }: Source, { hash, message }: CommitRecord): string {
  const subject = message
    .split('\n', 1)[0]!
    .replace(/\p{C}+/gu, ' ')
    .slice(0, 100)
  const short = hash.slice(0, 8)
  return type === 'commit'
    ? `commit ${short}: ${subject}`
    : `${type} ${quote(ref).slice(1, -1)} is at ${short}: ${subject}`
}

function isWholeHash(wanted: Wanted): boolean {
  return wanted.kind === 'hash' && wanted.digits.length >= 40
}

export function failed(message: string): Resolved {
  return { kind: 'failed', message, temporary: false }
}
