import type { Commit, Status } from '#platform/database/tables.ts'
import type { ApplicationCard } from './schemas.ts'

/** What a linked server of an application serves. */
export type CardServer = {
  applicationId: number
  actionId: number | null
  /** Null when nothing is live, or that is unknown. */
  releaseName: string | null
  commitSha: string | null
  commit: Pick<Commit, 'message' | 'url'> | null
  since: string | null
  isUnknown: boolean
  /** Of the last health check of what is live; null when there was none. */
  checked: Status | null
}

/** `isChecked`: a health check is set. Pure. */
export function summarizeServers(
  servers: readonly CardServer[],
  { isChecked, seesRuns }: { isChecked: boolean; seesRuns: boolean },
): Pick<ApplicationCard, 'live' | 'servers' | 'drift' | 'health'> {
  const serving = servers.filter(({ releaseName }) => releaseName !== null)
  const unknown = servers.filter(({ isUnknown }) => isUnknown).length
  // Releases whose commit is unknown are told apart by their names.
  const byCommit = Map.groupBy(serving, ({ commitSha, releaseName }) => commitSha ?? `release ${releaseName}`)
  const live = [...byCommit.values()].map((some) => {
    const newest = some.reduce((one, other) => (other.actionId! > one.actionId! ? other : one))
    const { commitSha: hash, commit } = newest
    const { message, url } = (seesRuns && commit) || { message: null, url: null }
    return {
      commit: hash === null ? null : { hash, message, url },
      since: some.map(({ since }) => since!).reduce((one, other) => (other < one ? other : one)),
      servers: some.length,
      action_id: seesRuns ? newest.actionId : null,
    }
  })
  live.sort((one, other) => other.servers - one.servers || (other.since < one.since ? -1 : 1))
  return {
    live,
    servers: { count: servers.length, unknown, nothing: servers.length - serving.length - unknown },
    drift: byCommit.size > 1 || unknown > 0,
    health: healthOf(
      serving.map(({ checked }) => checked),
      isChecked,
    ),
  }
}

function healthOf(checks: readonly (Status | null)[], isChecked: boolean): ApplicationCard['health'] {
  if (checks.includes('failed')) return 'unhealthy'
  const unfinished: readonly (Status | null)[] = ['pending', 'waiting', 'queued', 'in-progress']
  if (checks.some((status) => unfinished.includes(status))) return 'checking'
  if (checks.includes('completed')) return 'healthy'
  return isChecked ? 'unknown' : 'not_configured'
}
