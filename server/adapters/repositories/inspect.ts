import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Provider, type Remote, readAddress } from './address.ts'
import { contactRemote } from './contact.ts'
import { tokenProblem } from './credential-fits.ts'
import { explainDisk, explainLimited, type FetchFailure, type FetchProblem } from './failures.ts'
import { GitMissingError, type Limits, readGit } from './git.ts'
import { type Fetch, withSuffix } from './mirror.ts'
import type { ProbeRequest } from './probe.ts'
import { removeStale } from './remove-stale.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'
import { readSource } from './source.ts'

// A look at a repository before anything is set up for it: its branches, and the top folder of its default branch.
// Anyone who may add an application names the repository, so git gets little time, memory and disk. No code of the
// repository runs: nothing is checked out, and submodules and large files (LFS) are not followed.

export type InspectRequest = Omit<ProbeRequest, 'provider'> & {
  provider: Provider | null
  /** Files to read from the top folder, if they are there. */
  wanted: readonly string[]
  /** For folders that last as long as one inspection. */
  folder: string
  /** For one file on disk: the whole repository, if its host cannot send parts. */
  maxBytes?: number
  signal: AbortSignal
}

export type InspectProblem = FetchProblem | 'forbidden_address'

type Problem = { problem: InspectProblem; message: string }

/** Messages contain no secret and no folder of Gantry. */
export type Inspected =
  | ({ kind: 'closed' } & Problem)
  /** `snapshot` is null when there is no branch, and when its files could not be read, for the reason given. */
  | { kind: 'opened'; branches: Branches; snapshot: Snapshot | null; problem: Problem | null }

const MAX_BYTES = 64 * 1024 * 1024
const MEMORY_BYTES = 512 * 1024 * 1024
const PREFIX = 'inspection-'
/** No inspection takes this long. */
const STALE_MS = 60 * 60 * 1_000

/** Throws the signal's reason when aborted, after everything it started is gone. */
export async function inspectRepository(request: InspectRequest): Promise<Inspected> {
  const read = readAddress(request.repository, request.provider)
  if (read.kind === 'refused') return closed('other', read.message)
  const deadline = AbortSignal.timeout(request.withinMs)
  const signal = AbortSignal.any([request.signal, deadline])
  const progress: Progress = { branches: null }
  try {
    return await inspectRemote({ ...request, signal }, read.remote, progress)
  } catch (error) {
    request.signal.throwIfAborted()
    if (deadline.aborted) return tooSlow(read.remote, request.withinMs, progress)
    if (error instanceof GitMissingError) return closed('other', error.message)
    const message = explainDisk(error)
    if (message === undefined) throw error
    return closed('storage', message)
  }
}

/** What is known when time runs out. */
type Progress = { branches: Branches | null }

async function inspectRemote(
  request: InspectRequest,
  remote: Remote,
  progress: Progress,
): Promise<Inspected> {
  const { token, sshKey, provider, folder, signal, withinMs } = request
  const problem = token && provider && remote.host !== null ? tokenProblem(provider, remote) : undefined
  if (problem !== undefined) return closed('authentication', problem)
  // The system's resolver takes its time, and cannot be cancelled.
  const verdict = await Promise.race([request.allowRemote(remote), aborted(signal)])
  if (verdict.kind === 'refused') return closed('forbidden_address', verdict.message)
  if (verdict.kind === 'unreachable') return closed('unreachable', verdict.message)
  const { addresses = [] } = verdict
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeStale(folder, { prefix: PREFIX, olderThanMs: STALE_MS })
  await using resources = new AsyncDisposableStack()
  const own = await mkdtemp(join(folder, PREFIX))
  resources.defer(() => rm(own, { recursive: true, force: true, maxRetries: 3 }))
  const timeouts = { connectMs: withinMs, idleMs: withinMs, totalMs: withinMs }
  const limits = limitsFor(request, remote)
  // First contact with an SSH host: its key is remembered for the second connection, and no longer.
  const local = { knownHosts: join(own, 'known-hosts'), folder, limits, onLine() {} }
  const contact = { remote, login: { token, sshKey }, addresses, timeouts, signal, ...local }
  const outcome = await contactRemote(contact, (fetch) =>
    inspectInto(join(own, 'repository.git'), fetch, request.wanted, progress),
  )
  return outcome.kind === 'unconnected' ? closed('unreachable', outcome.message) : outcome
}

async function inspectInto(
  repository: string,
  fetch: Fetch,
  wanted: readonly string[],
  progress: Progress,
): Promise<Inspected> {
  const listed = await listBranches(fetch)
  if (listed.kind === 'failed') return closed(listed.failure.problem, listed.failure.message)
  const { branches, address } = listed
  progress.branches = branches
  if (branches.default === null) return opened(branches, null)
  const { name: branch, hash } = branches.default
  const hashes = hash.length === 64 ? 'sha256' : 'sha1'
  const taken = await takeSnapshot({ ...fetch, repository, address, branch, hashes, wanted })
  return taken.kind === 'taken'
    ? opened(branches, taken.snapshot)
    : opened(branches, null, problemOf(taken.failure))
}

/** A repository on this machine is read by its own git, which maps its packs as a whole. */
function limitsFor({ maxBytes = MAX_BYTES }: InspectRequest, { protocol }: Remote): Limits {
  return { fileBytes: maxBytes, memoryBytes: protocol === 'file' ? null : MEMORY_BYTES }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function tooSlow({ host }: Remote, withinMs: number, { branches }: Progress): Inspected {
  const seconds = `${Math.round(withinMs / 1_000)} s`
  if (branches === null) return closed('timeout', `${host ?? 'Git'} did not answer within ${seconds}.`)
  const message = `The files of the repository did not arrive within ${seconds}.`
  return opened(branches, null, { problem: 'timeout', message })
}

const problemOf = ({ problem, message }: FetchFailure): Problem => ({ problem, message })

const closed = (problem: InspectProblem, message: string): Inspected => ({ kind: 'closed', problem, message })

function opened(branches: Branches, snapshot: Snapshot | null, problem: Problem | null = null): Inspected {
  return { kind: 'opened', branches, snapshot, problem }
}

type Branches = {
  /** The default branch first, then by name. Only names that a run accepts. */
  names: string[]
  /** Whether there are more than these. */
  hasMore: boolean
  default: { name: string; hash: string } | null
}

/** The branches of a remote, and the address that answered. */
type Listed =
  | { kind: 'listed'; branches: Branches; address: string }
  | { kind: 'failed'; failure: FetchFailure }

const MAX_BRANCHES = 200

async function listBranches(fetch: Fetch): Promise<Listed> {
  const listAt = async (address: string): Promise<Listed> => {
    const args = ['ls-remote', '--symref', '--end-of-options', address, 'HEAD', 'refs/heads/*']
    const { code, output, errors } = await readGit({ ...fetch, args, repository: '/nonexistent' })
    if (code === 0) return { kind: 'listed', branches: parseBranches(output), address }
    return { kind: 'failed', failure: explainLimited(errors, fetch) }
  }
  const listed = await listAt(fetch.remote.address)
  if (listed.kind === 'listed' || listed.failure.kind !== 'moved') return listed
  const suffixed = withSuffix(fetch.remote)
  const again = suffixed === undefined ? listed : await listAt(suffixed)
  return again.kind === 'listed' ? again : listed
}

/** What `git ls-remote --symref` prints. The last line may be cut off. Pure. */
export function parseBranches(output: string): Branches {
  const hashes = new Map<string, string>()
  for (const [, hash, name] of output.matchAll(/^([0-9a-f]{40,64})\trefs\/heads\/(.+)\n/gm))
    if (readSource({ type: 'branch', ref: name! }).kind === 'ref' && !name!.includes('\ufffd'))
      hashes.set(name!, hash!)
  const head = /^ref: refs\/heads\/(.+)\tHEAD\n/m.exec(output)?.[1]
  const headHash = /^([0-9a-f]{40,64})\tHEAD\n/m.exec(output)?.[1]
  const sorted = [...hashes.keys()].sort()
  // Old servers do not say which branch HEAD is; and HEAD may name one that does not exist.
  const name = [head, 'main', 'master', sorted.find((one) => hashes.get(one) === headHash), sorted[0]].find(
    (one) => one !== undefined && hashes.has(one),
  )
  const names = name === undefined ? [] : [name, ...sorted.filter((one) => one !== name)]
  return {
    names: names.slice(0, MAX_BRANCHES),
    hasMore: names.length > MAX_BRANCHES,
    default: name === undefined ? null : { name, hash: hashes.get(name)! },
  }
}
