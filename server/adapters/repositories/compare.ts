import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { inspectObjects } from './commits.ts'
import {
  type ChangedFile,
  type Listed,
  listCommits,
  listFiles,
  type ShippedCommit,
  Unreadable,
} from './compared-lists.ts'
import { type Repo, readGit } from './git.ts'

// What lies between two commits of a mirror: commits in both directions, and the files that differ.

export type Comparison = {
  /** Reachable from the new commit only, newest first. Null: the history is shallow. */
  commits: Listed<ShippedCommit> | null
  /** Reachable from the old commit only: they go away. */
  removedCommits: Listed<ShippedCommit> | null
  /** Sorted by path, as git sorts. */
  files: Listed<ChangedFile>
  /**
   * The new commit does not contain the old one, which has left the branch (any branch, when none is given): a
   * force-push, or a removed branch. Null: the history is shallow.
   */
  rewritten: boolean | null
}

/** `missing-from`, `missing-to`: the mirror does not have the commit (yet, or any more). */
export type Compared =
  | { kind: 'compared'; comparison: Comparison }
  | { kind: 'unavailable'; reason: 'missing-from' | 'missing-to' | 'timeout' | 'unreadable' }

export type CompareRequest = {
  /** Full hashes. */
  from: string
  to: string
  /** The branch that both were deployed from, if it is the same. */
  branch?: string | null
  maxCommits?: number
  maxFiles?: number
  /** For everything together. */
  withinMs?: number
  signal: AbortSignal
}

const MAX_COMMITS = 250
const MAX_FILES = 1_000
const WITHIN_MS = 20_000

/** Throws the signal's reason when aborted. */
export async function compareCommits(repository: string, request: CompareRequest): Promise<Compared> {
  if (![request.from, request.to].every((hash) => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(hash)))
    throw new Error('not the full hash of a commit')
  request.signal.throwIfAborted()
  if (request.from === request.to) return { kind: 'compared', comparison: nothing() }
  const deadline = AbortSignal.timeout(request.withinMs ?? WITHIN_MS)
  const repo = { repository, signal: AbortSignal.any([request.signal, deadline]) }
  try {
    return { kind: 'compared', comparison: await compare(repo, request) }
  } catch (error) {
    request.signal.throwIfAborted()
    if (deadline.aborted) return unavailable('timeout')
    if (!(error instanceof Unreadable)) throw error
  }
  return unavailable(await explain(repository, request))
}

function nothing(): Comparison {
  const none = () => ({ total: 0, items: [] })
  return { commits: none(), removedCommits: none(), files: none(), rewritten: false }
}

async function compare(repo: Repo, request: CompareRequest): Promise<Comparison> {
  const { from, to, branch = null, maxCommits = MAX_COMMITS } = request
  const { maxFiles = MAX_FILES, withinMs = WITHIN_MS } = request
  const files = await listFiles(repo, { from, to, maxFiles, withinMs: withinMs / 2 })
  if (await isShallow(repo)) return { commits: null, removedCommits: null, files, rewritten: null }
  const [removed, shipped] = await count(repo, from, to)
  return {
    commits: await listCommits(repo, from, to, shipped, maxCommits),
    removedCommits: await listCommits(repo, to, from, removed, maxCommits),
    files,
    rewritten: removed > 0 && !(await isOnBranch(repo, from, branch)),
  }
}

async function count(repo: Repo, from: string, to: string): Promise<[removed: number, shipped: number]> {
  const args = ['rev-list', '--count', '--left-right', `${from}...${to}`, '--']
  const { code, output } = await readGit({ ...repo, args })
  const found = /^(\d+)\t(\d+)\n$/.exec(output)
  if (code !== 0 || !found) throw new Unreadable()
  return [Number(found[1]), Number(found[2])]
}

async function isOnBranch(repo: Repo, hash: string, branch: string | null): Promise<boolean> {
  const pattern = branch === null ? 'refs/heads' : `refs/heads/${branch}`
  const args = ['for-each-ref', '--count=1', `--contains=${hash}`, '--format=%(refname)', pattern]
  const { code, output } = await readGit({ ...repo, args })
  if (code !== 0) throw new Unreadable()
  return output !== ''
}

/** Git keeps where a history is cut off in a file with this name. */
export async function isShallow({ repository }: Repo): Promise<boolean> {
  const { size } = await stat(join(repository, 'shallow')).catch(() => ({ size: 0 }))
  return size > 0
}

async function explain(repository: string, { from, to, signal }: CompareRequest) {
  const there = await inspectObjects({ repository, signal }, [from, to])
  const has = (hash: string) => there.some((object) => object.hash === hash && object.type === 'commit')
  if (!has(to)) return 'missing-to'
  return has(from) ? 'unreadable' : 'missing-from'
}

const unavailable = (reason: Extract<Compared, { kind: 'unavailable' }>['reason']): Compared => ({
  kind: 'unavailable',
  reason,
})
