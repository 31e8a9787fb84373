// The repositories room: where the source of a deploy comes from. Gantry keeps a bare mirror of every application's
// repository, brings it up to date when a run needs it, finds the commit, and streams its files as an archive:
// neither git nor a token ever reaches a server that is deployed to.

import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Patience } from './access.ts'
import { type Remote, readAddress } from './address.ts'
import { type ArchiveRequest, archiveTree } from './archive.ts'
import { explainDisk } from './failures.ts'
import { GitMissingError } from './git.ts'
import { oneAtATime } from './lock.ts'
import { mirrorOf } from './mirror.ts'
import { failed, type RemoteVerdict, type Resolved, type ResolveRequest, resolveSource } from './resolve.ts'
import { readSource } from './source.ts'

export type Repositories = {
  /**
   * Brings the mirror up to date and finds the commit. One at a time per application, between processes too. When
   * the remote cannot be reached, a commit given by its whole hash is looked for in the mirror as it is. Messages
   * and lines hold no secret and no folder of Gantry's. Throws the signal's reason when aborted, after everything
   * it started is gone.
   */
  resolve(request: ResolveRequest): Promise<Resolved>
  /** The files of a commit that was resolved, as a tar stream that fails rather than ends too early. */
  archive(request: ArchiveRequest & { applicationId: number }): Readable
  /** For an application that is no more. */
  remove(request: { applicationId: number; signal: AbortSignal }): Promise<void>
}

const DEFAULT_PATIENCE: Patience = { connectMs: 15_000, silentMs: 60_000, totalMs: 600_000 }

export function createRepositories(options: {
  /** GANTRY_HOME/repositories/mirrors */
  folder: string
  /** Asked before every contact with a remote. Decides about private addresses, and about `file:`. */
  allowRemote(remote: Remote, applicationId: number): Promise<RemoteVerdict>
  patience?: Partial<Patience>
}): Repositories {
  const { folder, allowRemote } = options
  const patience = { ...DEFAULT_PATIENCE, ...options.patience }

  return {
    async resolve(request) {
      const wanted = readSource(request.source)
      if (wanted.kind === 'impossible') return { kind: 'not-found', message: wanted.message }
      const read = readAddress(request.repository, request.provider)
      if (read.kind === 'refused') return failed(read.message)
      const mirror = mirrorOf(folder, request.applicationId)
      const deadline = AbortSignal.timeout(patience.totalMs)
      const signal = AbortSignal.any([request.signal, deadline])
      const work = { request, remote: read.remote, wanted, mirror, folder, patience, signal }
      try {
        return await resolveSource(work, allowRemote)
      } catch (fault) {
        request.signal.throwIfAborted()
        if (deadline.aborted) return { kind: 'failed', message: tooLong(patience.totalMs), temporary: true }
        if (fault instanceof GitMissingError) return failed('The machine that runs Gantry has no git.')
        const message = explainDisk(fault)
        if (message === undefined) throw fault
        return { kind: 'failed', message, temporary: true }
      }
    },

    archive({ applicationId, ...wish }) {
      return archiveTree(mirrorOf(folder, applicationId), wish)
    },

    async remove({ applicationId, signal }) {
      await oneAtATime(folder, applicationId, signal, () =>
        rm(mirrorOf(folder, applicationId).folder, { recursive: true, force: true }),
      )
    },
  }
}

function tooLong(ms: number): string {
  return `Fetching the repository did not end within ${Math.round(ms / 1_000)} s, and was ended.`
}
