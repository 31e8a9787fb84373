import type { Token } from './access.ts'
import type { Provider } from './address.ts'
import { type CommitRecord, findCommit, readCommit } from './commits.ts'
import { type AllowRemote, type Contact, contactRemote } from './contact.ts'
import { tokenProblem } from './credential-fits.ts'
import type { FetchFailure } from './failures.ts'
import {
  compactMirror,
  createMirror,
  type Fetch,
  fetchInto,
  isMirrorOf,
  type Mirror,
  refreshMirror,
  withLock,
} from './mirror.ts'
import { quote, type Source, type Wanted } from './source.ts'
import type { Ask } from './submodule-mirror.ts'
import type { Submodule } from './submodule-paths.ts'
import { describeIgnored, findSubmodules } from './submodules.ts'

export type ResolveRequest = {
  applicationId: number
  repository: string
  /** Of the credential, if any: the kind of host, and the only one that receives its token. */
  provider?: Provider | null
  token: Token | null
  sshKey?: string | null
  source: Source
  /**
   * The commit was resolved for an earlier run, which this one repeats: it is taken from the mirror without
   * contacting the remote, and may have left all branches since.
   */
  resolvedBefore?: boolean
  agreement?: Agreement
  /**
   * By the caller's clock: what the repository had at any time after `since` is good enough, so that many requests share a
   * fetch. Left out: as it is now.
   */
  asked?: { since: number; now: number }
  /** Left out: the caller does not need their files. */
  submodules?: { mode: 'fetch' | 'ignore'; rootDirectory: string | null }
  signal: AbortSignal
  /** Progress for people, one line at a time. */
  onLine(text: string): void
}

/** Between requests for the same commit: the first one that finds it decides, the others need no fetch. */
export type Agreement = {
  /** Called when it is a request's turn. The full hash; null as long as there is no agreement. */
  agreed(): Promise<string | null>
  /** Called before the next one's turn. Returns the hash that counts: another machine may have been faster. */
  agree(commit: CommitRecord): Promise<string>
}

export type Resolved =
  /** `submodules` are in their mirrors; none unless they were to be fetched. */
  | { kind: 'resolved'; commit: CommitRecord; submodules: Submodule[] }
  /** The repository, or the ref in it, does not exist. */
  | { kind: 'not-found'; message: string }
  /** `temporary`: a retry may succeed. */
  | { kind: 'failed'; message: string; temporary: boolean }

/** One request, parsed and with its deadline. */
export type Resolution = Pick<Contact, 'remote' | 'folder' | 'timeouts' | 'signal'> & {
  request: ResolveRequest
  wanted: Wanted
  mirror: Mirror
  allowRemote: AllowRemote
  /** For the repository and its submodules together, if it has some. */
  maxBytes: number
  /** When each mirror was updated last by this process: the `now` of the request that did. */
  updates: Map<number, number>
  /** What takes so long, when the time is up. */
  progress: { fetching: string }
}

export async function resolveSource(work: Resolution): Promise<Resolved> {
  const { request, remote, folder, signal } = work
  if (isResolvedBefore(work)) {
    const known = await findInMirror(work)
    const complete = known?.kind === 'resolved' ? await withSubmodules(work, known, 'never') : undefined
    if (complete) return complete
  }
  // Other people edit repository addresses than credentials: a token goes to its own host only.
  const sendsToken = request.token && remote.protocol.startsWith('http')
  const problem = sendsToken && request.provider ? tokenProblem(request.provider, remote) : undefined
  if (problem !== undefined) return failed(problem)
  const verdict = await work.allowRemote(remote, request.applicationId)
  switch (verdict.kind) {
    case 'refused':
      return failed(verdict.message)
    case 'unreachable': {
      const known = await offline(await asAgreed(work), verdict.message)
      if (known.kind !== 'resolved' || !request.submodules) return known
      return withLock(folder, request.applicationId, signal, () => withSubmodules(work, known, 'missing'))
    }
    case 'allowed':
      return withLock(folder, request.applicationId, signal, async () =>
        underLock(await asAgreed(work), verdict.addresses ?? []),
      )
  }
}

/** The request once others have agreed on a commit, which may leave its branch at any time. */
async function asAgreed(work: Resolution): Promise<Resolution> {
  const hash = await work.request.agreement?.agreed()
  if (!hash) return work
  const request = { ...work.request, source: { type: 'commit' as const, ref: hash }, resolvedBefore: true }
  return { ...work, request, wanted: { kind: 'hash', digits: hash } }
}

async function underLock(work: Resolution, addresses: string[]): Promise<Resolved> {
  // The previous holder of the lock may have fetched it.
  const known = isResolvedBefore(work) ? await findInMirror(work) : undefined
  if (known?.kind === 'resolved') return withSubmodules(work, known, 'missing')
  const recent = isRecent(work) ? await findInMirror(work) : undefined
  const found = recent?.kind === 'resolved' ? recent : await withRemote(work, addresses)
  if (found.kind !== 'resolved') return found
  const hash = (await work.request.agreement?.agree(found.commit)) ?? found.commit.hash
  if (hash !== found.commit.hash) return underLock(await asAgreed(work), addresses)
  return withSubmodules(work, found, 'always')
}

/** Undefined when it asks never, and the mirrors are not enough. */
async function withSubmodules(work: Resolution, found: Found, ask: 'never'): Promise<Resolved | undefined>
async function withSubmodules(work: Resolution, found: Found, ask: Ask): Promise<Resolved>
async function withSubmodules(work: Resolution, found: Found, ask: Ask): Promise<Resolved | undefined> {
  const { request, remote, progress } = work
  if (!request.submodules) return found
  const { applicationId, token, sshKey = null, onLine } = request
  const { mode, rootDirectory } = request.submodules
  const { hash } = found.commit
  if (mode === 'ignore') {
    const warning = await describeIgnored(work, { hash, rootDirectory })
    if (warning !== undefined) onLine(warning)
    return found
  }
  const onNext = (path: string) => {
    progress.fetching = `the submodule ${quote(path)}`
  }
  const context = { ...work, applicationId, own: remote, login: { token, sshKey }, onLine }
  const outcome = await findSubmodules(context, { hash, rootDirectory, ask, onNext })
  if (outcome.kind === 'found') {
    outcome.lines.forEach(onLine)
    return { ...found, submodules: outcome.submodules }
  }
  if (ask === 'never') return undefined
  return outcome.kind === 'failed' ? outcome : failed('A submodule is not in its mirror.', true)
}

type Found = Extract<Resolved, { kind: 'resolved' }>

function isResolvedBefore({ request, wanted }: Resolution): boolean {
  return (request.resolvedBefore ?? false) && isFullHash(wanted)
}

function isRecent({ request: { applicationId, asked }, updates }: Resolution): boolean {
  return asked !== undefined && (updates.get(applicationId) ?? 0) > asked.since
}

async function withRemote(work: Resolution, addresses: string[]): Promise<Resolved> {
  const { request, remote, mirror } = work
  const { token, sshKey = null, onLine } = request
  const { knownHosts } = mirror
  onLine(`Fetching ${remote.address}`)
  const contact = { ...work, login: { token, sshKey }, addresses, knownHosts, onLine }
  const outcome = await contactRemote(contact, (fetch) => fetchAndFind(work, fetch))
  return outcome.kind === 'unconnected' ? offline(work, outcome.message) : outcome
}

async function fetchAndFind(work: Resolution, fetch: Fetch): Promise<Resolved> {
  const failure = await refreshMirror(work.mirror, fetch)
  if (failure) return failureOutcome(work, failure)
  const { applicationId, asked } = work.request
  if (asked) work.updates.set(applicationId, asked.now)
  let found = await findInMirror(work)
  if (!found) {
    fetch.onLine('The mirror is corrupt: recreating it')
    const failure = await createMirror(work.mirror, fetch)
    if (failure) return failureOutcome(work, failure)
    found = await findInMirror(work)
  }
  if (found?.kind === 'not-found' && isResolvedBefore(work)) found = await fetchByHash(work, fetch, found)
  await compactMirror(work.mirror, work.signal)
  return found ?? failed('The repository is corrupt: git cannot read what it points to.')
}

/** It has left all branches, and this mirror is too new to have it: most hosts still serve it. */
async function fetchByHash(work: Resolution, fetch: Fetch, absent: Resolved): Promise<Resolved | undefined> {
  const { ref } = work.request.source
  fetch.onLine(`The commit ${ref.slice(0, 8)} is no longer on a branch: requesting it by its hash`)
  const failure = await fetchInto(work.mirror.repository, fetch, [ref.toLowerCase()])
  return failure ? absent : findInMirror(work)
}

function failureOutcome(work: Resolution, { kind, message }: FetchFailure): Resolved | Promise<Resolved> {
  if (kind === 'absent') return { kind: 'not-found', message }
  return kind === 'unreachable' ? offline(work, message) : failed(message, kind === 'disk')
}

/** A full hash never changes its meaning, so the mirror is enough: a deploy can be repeated while a host is down. */
async function offline(work: Resolution, message: string): Promise<Resolved> {
  const known = isFullHash(work.wanted) ? await findInMirror(work) : undefined
  if (known?.kind !== 'resolved') return failed(message, true)
  work.request.onLine(`${message} Using the commit from the mirror, fetched earlier`)
  return known
}

/** In the mirror as it is. Undefined when that is of another repository, absent, or corrupt. */
async function findInMirror(work: Resolution): Promise<Resolved | undefined> {
  const { request, remote, wanted, mirror, signal } = work
  if (!(await isMirrorOf(mirror, remote.address))) return undefined
  const repo = { repository: mirror.repository, signal }
  const found = await findCommit(repo, wanted, request)
  if (found.kind === 'not-found') return found
  if (found.kind === 'broken') return undefined
  const { repository, provider = null } = request
  const commit = await readCommit(repo, found.hash, { repository, remote, provider })
  if (!commit) return undefined
  request.onLine(describeCommit(request.source, commit))
  return { kind: 'resolved', commit, submodules: [] }
}

/** `branch main is at 1a2b3c4d: Say hello` */
function describeCommit({ type, ref }: Source, { hash, message }: CommitRecord): string {
  const subject = message
    .split('\n', 1)[0]!
    .replace(/\p{C}+/gu, ' ')
    .slice(0, 100)
  const short = hash.slice(0, 8)
  return type === 'commit'
    ? `commit ${short}: ${subject}`
    : `${type} ${quote(ref).slice(1, -1)} is at ${short}: ${subject}`
}

function isFullHash(wanted: Wanted): boolean {
  return wanted.kind === 'hash' && wanted.digits.length >= 40
}

export function failed(message: string, temporary = false): Resolved {
  return { kind: 'failed', message, temporary }
}
