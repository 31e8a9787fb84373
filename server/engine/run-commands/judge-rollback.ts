import type { HttpProblem } from '#platform/http/problems.ts'
import type { LiveOnServers, LiveRelease } from './live-on-servers.ts'
import type { RunInput } from './schemas.ts'

// Whether a rollback has something to undo, and from what. Pure.

/** `from` is null when the servers serve different releases, or it is not known what one of them serves. */
export type RollbackStart = { kind: 'start'; from: LiveRelease | null } | HttpProblem

export function judgeRollback(
  { rollback_from, release_name }: Pick<RunInput, 'rollback_from' | 'release_name'>,
  { releases, unknown }: LiveOnServers,
): RollbackStart {
  if (unknown.length > 0) {
    if (release_name !== undefined) return { kind: 'start', from: null }
    const reason = `The live release on ${namesOf(unknown)} is unknown, so there is no release before it. Name the release to roll back to, or wait until Gantry has reached the server.`
    return { kind: 'conflict', code: 'live_unknown', reason }
  }
  const isLive = releases.some(({ actionIds }) => actionIds.includes(rollback_from!))
  if (rollback_from !== undefined && !isLive) {
    const reason = `Nothing to roll back: run #${rollback_from} is not live. ${describeLive(releases)}`
    return { kind: 'conflict', code: 'nothing_to_roll_back', reason }
  }
  if (releases.length === 0)
    return {
      kind: 'conflict',
      reason: 'The servers have no live release, so there is nothing to roll back.',
    }
  if (releases.length === 1) return { kind: 'start', from: releases[0]! }
  if (release_name !== undefined) return { kind: 'start', from: null }
  const each = some(releases.map(({ releaseName, servers }) => `${releaseName} on ${namesOf(servers)}`))
  const reason = `The servers have different live releases: ${each}. Name the release to roll back to, or choose servers that have the same one.`
  return { kind: 'conflict', code: 'live_releases_differ', reason }
}

/** For callers who may view actions. */
function describeLive(live: readonly LiveRelease[]): string {
  if (live.length === 0) return 'Nothing is live on its servers.'
  const each = live.map(({ releaseName, commit, actionIds, servers }) => {
    const details = [commit?.hash && `commit ${commit.hash.slice(0, 8)}`, `run #${actionIds[0]}`]
    const where = live.length === 1 ? '' : ` on ${namesOf(servers)}`
    return `${releaseName} (${details.filter(Boolean).join(', ')})${where}`
  })
  return `Live now: ${some(each)}.`
}

const MAX_SHOWN = 5

function some(texts: readonly string[], separator = '; '): string {
  const rest = texts.length - MAX_SHOWN
  const shown = texts.slice(0, MAX_SHOWN)
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(separator)
}

function namesOf(servers: LiveRelease['servers']): string {
  const names = servers.map(({ name }) => name)
  return some(names, ', ')
}
