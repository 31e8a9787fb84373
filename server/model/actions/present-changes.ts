import {
  CHANGES_REASONS,
  type ChangesReason,
  type StoredChanges,
  shownRelease,
  storedRelease,
} from './changes.ts'
import type { ActionChanges, ReleaseComparison } from './changes-schemas.ts'

/** A server of the action, and how far its target has come. */
export type ChangesTarget = { serverId: number; serverName: string; hasEnded: boolean; hasFetched: boolean }

type Subject = { id: number; isDeploy: boolean; commitSha: string | null }

export function presentChanges(
  { id, isDeploy, commitSha }: Subject,
  targets: readonly ChangesTarget[],
  stored: readonly StoredChanges[],
): ActionChanges {
  if (!isDeploy) return { action_id: id, ...unavailable('not_a_deploy'), comparisons: [] }
  const names = new Map(targets.map(({ serverId, serverName }) => [serverId, serverName]))
  const placed = new Set(stored.flatMap(({ serverIds }) => serverIds))
  const others = targets.filter(({ serverId }) => !placed.has(serverId))
  const comparisons = [
    ...stored.map((one) => {
      const servers = targets.filter(({ serverId }) => one.serverIds.includes(serverId))
      return presentComparison(one, names, servers.length > 0 && servers.every(({ hasEnded }) => hasEnded))
    }),
    ...[...Map.groupBy(others, missingReason)].map(([reason, ones]) => {
      const serverIds = ones.map(({ serverId }) => serverId)
      return presentComparison({ ...NOTHING_STORED, toCommit: commitSha, serverIds, reason }, names, false)
    }),
  ]
  const isPending = comparisons.some(({ state }) => state === 'pending')
  const compared = comparisons.some(({ state }) => state === 'compared')
  const state = isPending
    ? PENDING
    : compared
      ? COMPARED
      : unavailable(comparisons[0]?.reason ?? 'not_fetched')
  return { action_id: id, ...state, comparisons }
}

/** `isOver`: nobody will compare them any more. */
export function presentComparison(
  stored: StoredChanges,
  names: ReadonlyMap<number, string>,
  isOver: boolean,
): ReleaseComparison {
  const { comparison, reason } = stored
  const isOpen = comparison === null && reason === null
  const fromRelease = shownRelease(stored.fromRelease)
  const state = comparison ? COMPARED : isOpen && !isOver ? PENDING : unavailable(reason ?? 'not_fetched')
  return {
    servers: stored.serverIds.map((id) => ({ id, name: names.get(id) ?? '' })),
    ...state,
    ...(comparison && reasonOf(reason)),
    from:
      fromRelease === null
        ? null
        : { action_id: stored.fromActionId, release_name: fromRelease, commit_sha: stored.fromCommit },
    to: { commit_sha: stored.toCommit },
    rewritten: comparison?.rewritten ?? null,
    commits: comparison?.commits ?? null,
    removed_commits: comparison?.removedCommits ?? null,
    files: comparison?.files ?? null,
  }
}

/** Null: the run has yet to fetch its source. */
function missingReason({ hasEnded, hasFetched }: ChangesTarget): ChangesReason | null {
  if (hasFetched) return 'not_recorded'
  return hasEnded ? 'not_fetched' : null
}

const NOTHING_STORED = {
  fromRelease: storedRelease(null),
  fromActionId: null,
  fromCommit: null,
  comparison: null,
}

const NO_REASON = { reason: null, reason_human_readable: null }
const PENDING = { state: 'pending' as const, ...NO_REASON }
const COMPARED = { state: 'compared' as const, ...NO_REASON }

const reasonOf = (reason: ChangesReason | null) => ({
  reason,
  reason_human_readable: reason && CHANGES_REASONS[reason],
})

const unavailable = (reason: ChangesReason) => ({ state: 'unavailable' as const, ...reasonOf(reason) })
