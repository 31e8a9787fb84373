// What is on the servers of an application, and where a commit is live.
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { LiveRelease, Release, ServerReleases } from '#web/base/api/types.ts'
import { findDrift } from '#web/resources/applications/drift.ts'

export function useServerReleases(applicationId: number) {
  return useGet(queryKeys.serverReleases(applicationId), '/applications/{id}/releases', {
    params: { path: { id: applicationId } },
  })
}

const ASK_AGAIN_MS = 5_000

/** What each linked server serves; asked for again until that is known. */
export function useLive(applicationId: number) {
  return useGet(queryKeys.serverLive(applicationId), '/applications/{id}/live', {
    params: { path: { id: applicationId } },
    refetchInterval: ({ state }) => (state.data?.some(isUnknown) ? ASK_AGAIN_MS : false),
  })
}

/** Servers where it is not known what is live. */
export function useUnknownServers(applicationId: number): LiveRelease[] {
  return useLive(applicationId).data?.filter(isUnknown) ?? []
}

const isUnknown = ({ state }: LiveRelease) => state === 'unknown'

/** Undefined until there is something to look for. */
export function useContaining(applicationId: number, contains: string | undefined) {
  return useGet(queryKeys.liveCommit(applicationId, contains), '/applications/{id}/live', {
    params: { path: { id: applicationId }, query: { contains: contains! } },
    enabled: contains !== undefined,
    staleTime: 0,
  })
}

export type ServerGroup = {
  key: string
  /** What is live there. */
  served: LiveRelease
  /** It serves another commit than most, or what it serves is unknown. */
  hasDrift: boolean
  /** Its release, where that is stored. */
  live: Release | undefined
  /** Newest first. */
  older: Release[]
}

type OfServer = { server: LiveRelease['server'] }

/** Pure. Each server with what it serves and which releases are there to return to, in the order of `live`. */
export function groupByServer(
  live: readonly LiveRelease[],
  stored: readonly ServerReleases[],
): ServerGroup[] {
  const drift = findDrift(live)
  const keyOf = ({ server }: OfServer, index: number) => String(server?.id ?? `unnamed ${index}`)
  const byServer = new Map(stored.map((one, index) => [keyOf(one, index), one.releases]))
  return live.map((one, index) => {
    const key = keyOf(one, index)
    const releases = byServer.get(key) ?? []
    const isKnown = one.state === 'known'
    return {
      key,
      served: one,
      hasDrift: drift[index]!,
      live: isKnown ? releases.find((release) => release.live) : undefined,
      older: releases.filter((release) => !release.live),
    }
  })
}

/** Pure. What a release is now, in a word. */
export function releaseState({ live, reverted, was_live }: Pick<Release, 'live' | 'reverted' | 'was_live'>) {
  if (live) return 'Live'
  if (reverted) return 'Reverted'
  return was_live ? 'Was live' : 'Never live'
}

/** Pure. The digits of a commit hash; undefined when it is none. */
export function readCommitDigits(text: string): string | undefined {
  const digits = text.trim().toLowerCase()
  return /^[0-9a-f]{7,40}$/.test(digits) ? digits : undefined
}

const UNKNOWN: Record<NonNullable<LiveRelease['contains_reason']>, string> = {
  nothing_live: 'Nothing is live',
  live_unknown: 'Unknown: what is live there could not be read',
  unknown_commit: 'Unknown: no deploy has fetched this commit',
  ambiguous_commit: 'Unknown: several commits begin with these digits',
  unknown_live_commit: 'Unknown: the live commit is not in the mirror of the repository',
  shallow_history: 'Unknown: the history of the repository is incomplete',
  no_mirror: 'Unknown: this machine has no mirror of the repository',
  timeout: 'Unknown: looking it up took too long',
}

/** Pure. Whether the commit is live there, in words. */
export function containment(live: Pick<LiveRelease, 'contains' | 'contains_reason'>): string {
  if (live.contains !== null) return live.contains ? 'Live' : 'Not live'
  return live.contains_reason === null ? '' : UNKNOWN[live.contains_reason]
}
