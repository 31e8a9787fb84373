// The repositories room: where the source of a deploy comes from. Gantry has a bare mirror of every application's
// repository, updates it when a run needs it, finds the commit, and streams its files as an archive: neither git
// nor a token ever reaches a target server.

import type { Readable } from 'node:stream'
import type { Timeouts } from './access.ts'
import { readAddress } from './address.ts'
import { type ArchiveRequest, archiveTree } from './archive.ts'
import { type Compared, type CompareRequest, compareCommits } from './compare.ts'
import type { AllowRemote } from './contact.ts'
import { explainDisk } from './failures.ts'
import { GitMissingError } from './git.ts'
import { isMirrorOf, mirrorFor } from './mirror.ts'
import { readTips, type Tips, type TipsRequest } from './read-tips.ts'
import { failed, type Resolved, type ResolveRequest, resolveSource } from './resolve.ts'
import { listAuthors, listPins, pinCommit, removePins, shipsMore } from './shipped.ts'
import { readSource } from './source.ts'

type ShippedRequest = { applicationId: number; to: string; signal: AbortSignal }

export type Repositories = ReturnType<typeof createRepositories>

const DEFAULT_MAX_BYTES = 10 * 1024 ** 3
const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 15_000, idleMs: 60_000, totalMs: 600_000 }

export function createRepositories(options: {
  /** GANTRY_HOME/repositories/mirrors */
  folder: string
  allowRemote: AllowRemote
  /** For a repository with its submodules. One without is not limited. */
  maxBytes?: number
  timeouts?: Partial<Timeouts>
}) {
  const { folder, allowRemote, maxBytes = DEFAULT_MAX_BYTES } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const updates = new Map<number, number>()

  return {
    /**
     * Updates the mirror, finds the commit and, if asked to, fetches its submodules. One at a time per application,
     * across processes. When the remote is unreachable, a commit given by its full hash is looked up in the mirror as it
     * is. Messages and lines contain no secret and no folder of Gantry. Throws the signal's reason when aborted, after
     * everything it started is gone.
     */
    async resolve(request: ResolveRequest): Promise<Resolved> {
      const wanted = readSource(request.source)
      if (wanted.kind === 'impossible') return { kind: 'not-found', message: wanted.message }
      const read = readAddress(request.repository, request.provider)
      if (read.kind === 'refused') return failed(read.message)
      const mirror = mirrorFor(folder, request.applicationId)
      const deadline = AbortSignal.timeout(timeouts.totalMs)
      const signal = AbortSignal.any([request.signal, deadline])
      const progress = { fetching: 'the repository' }
      const limits = { timeouts, maxBytes, updates, progress, signal }
      const work = { request, remote: read.remote, wanted, mirror, folder, allowRemote, ...limits }
      try {
        return await resolveSource(work)
      } catch (error) {
        request.signal.throwIfAborted()
        const seconds = Math.round(timeouts.totalMs / 1_000)
        if (deadline.aborted)
          return failed(`Fetching ${progress.fetching} took longer than ${seconds} s and was stopped.`, true)
        if (error instanceof GitMissingError) return failed(error.message)
        const message = explainDisk(error)
        if (message === undefined) throw error
        return failed(message, true)
      }
    },

    /** The files of a resolved commit, as a tar stream that fails rather than end too early. */
    archive({ applicationId, ...request }: ArchiveRequest & { applicationId: number }): Readable {
      return archiveTree(mirrorFor(folder, applicationId), request)
    },

    /** What is between two commits, in the mirror as it is. Contacts no remote. */
    compare({ applicationId, ...request }: CompareRequest & { applicationId: number }): Promise<Compared> {
      return compareCommits(mirrorFor(folder, applicationId).repository, request)
    },

    /** Keeps a resolved commit until `unpin`, whatever happens to its branch. */
    async pin(request: {
      applicationId: number
      actionIds: readonly number[]
      hash: string
      signal: AbortSignal
    }) {
      const { applicationId, actionIds, hash, signal } = request
      return pinCommit({ ...mirrorFor(folder, applicationId), signal }, actionIds, hash)
    },

    /** The runs that commits are kept for, in the mirror of this machine. */
    pinned: ({ applicationId, signal }: { applicationId: number; signal: AbortSignal }) =>
      listPins({ ...mirrorFor(folder, applicationId), signal }),

    unpin({
      applicationId,
      actionIds,
      signal,
    }: {
      applicationId: number
      actionIds: number[]
      signal: AbortSignal
    }) {
      return removePins({ ...mirrorFor(folder, applicationId), signal }, actionIds)
    },

    /** Who wrote or committed what ships; undefined when git cannot tell. */
    authors({ applicationId, live, to, signal }: ShippedRequest & { live: string | null }) {
      return listAuthors({ ...mirrorFor(folder, applicationId), signal }, { live, to })
    },

    /** See shipped.ts. */
    shipsMore(request: ShippedRequest & { shown: string | null; live: string | null }) {
      const { applicationId, signal, ...commits } = request
      return shipsMore({ ...mirrorFor(folder, applicationId), signal }, commits)
    },

    /** The commits that branches point to; nothing is fetched. */
    readTips(applicationId: number, request: Omit<TipsRequest, 'allowRemote' | 'knownHosts'>): Promise<Tips> {
      const { knownHosts } = mirrorFor(folder, applicationId)
      return readTips({ ...request, knownHosts, allowRemote: (remote) => allowRemote(remote, applicationId) })
    },

    /** Whether the repository was fetched on this machine before. */
    async hasMirror(request: Pick<ResolveRequest, 'applicationId' | 'repository' | 'provider'>) {
      const read = readAddress(request.repository, request.provider)
      if (read.kind === 'refused') return false
      return isMirrorOf(mirrorFor(folder, request.applicationId), read.remote.address)
    },
  }
}
