import { existsSync } from 'node:fs'
import { findCommits, inspectObjects } from './commits.ts'
import { isShallow } from './compare.ts'
import { GitMissingError, type Repo, readGit } from './git.ts'
import { mirrorFor } from './mirror.ts'

/** Why it is not known whether a commit contains another. */
export const UNKNOWN_CONTAINMENT = [
  'unknown_commit',
  'ambiguous_commit',
  'unknown_live_commit',
  'shallow_history',
  'no_mirror',
  'timeout',
] as const
export type UnknownContainment = (typeof UNKNOWN_CONTAINMENT)[number]

export type Containment = boolean | UnknownContainment

export type ContainmentRequest = {
  /** GANTRY_HOME/repositories/mirrors */
  folder: string
  applicationId: number
  /** Hexadecimal, at least 7. */
  digits: string
  /** Full hashes. */
  hashes: readonly string[]
  withinMs: number
  signal: AbortSignal
}

/**
 * Which of the commits contain the one that `digits` begin: themselves, or among their ancestors. In the mirror as it is:
 * contacts no remote. A commit that begins with the digits contains itself, with or without a mirror.
 */
export async function findContaining(request: ContainmentRequest): Promise<Map<string, Containment>> {
  const deadline = AbortSignal.timeout(request.withinMs)
  const signal = AbortSignal.any([request.signal, deadline])
  const { repository } = mirrorFor(request.folder, request.applicationId)
  const answers = new Map<string, Containment>()
  const answerRest = (answer: Containment) => {
    for (const hash of request.hashes)
      if (!answers.has(hash)) answers.set(hash, hash.startsWith(request.digits.toLowerCase()) || answer)
    return answers
  }
  try {
    const repo = { repository, signal }
    if (!existsSync(repository)) return answerRest('no_mirror')
    const [found, ...others] = await findCommits(repo, request.digits.toLowerCase())
    if (!found) return answerRest('unknown_commit')
    if (others.length > 0) return answerRest('ambiguous_commit')
    for (const hash of new Set(request.hashes)) answers.set(hash, await contains(repo, hash, found))
    return answers
  } catch (error) {
    request.signal.throwIfAborted()
    if (deadline.aborted) return answerRest('timeout')
    if (error instanceof GitMissingError) return answerRest('no_mirror')
    throw error
  }
}

async function contains(repo: Repo, hash: string, ancestor: string): Promise<Containment> {
  const [live] = await inspectObjects(repo, [hash])
  if (live?.type !== 'commit') return 'unknown_live_commit'
  const { code } = await readGit({ ...repo, args: ['merge-base', '--is-ancestor', ancestor, hash] })
  if (code === 0) return true
  if (code !== 1) return 'unknown_live_commit'
  return (await isShallow(repo)) ? 'shallow_history' : false
}
