// The line of commits of an application: what is live where, what was reverted, what waits. Pure.
import type { ActionListItem, LiveRelease } from '#web/base/api/types.ts'

type Deploy = Pick<ActionListItem, 'id' | 'status' | 'status_reason_code' | 'action_data' | 'created_at'>

export type CommitState = 'live' | 'running' | 'waiting' | 'reverted' | 'failed' | 'skipped' | 'earlier'

export type LineCommit = {
  /** The hash, or what is deployed where no commit is known yet. */
  id: string
  hash: string | null
  ref: string | null
  message: string | null
  url: string | null
  state: CommitState
  /** Names of the servers that serve it. */
  liveOn: string[]
  /** The newest deploy of it; null where a person may not see it. */
  run: { id: number; created_at: string } | null
}

/**
 * Deploys come newest first; so do the commits, each once, by its newest deploy. What is live is among them, however long ago
 * it was deployed.
 */
export function toCommitLine(deploys: readonly Deploy[], live: readonly LiveRelease[]): LineCommit[] {
  const commits = new Map<string, LineCommit>()
  for (const deploy of deploys) {
    const { commit, deployment } = deploy.action_data
    const hash = commit?.hash ?? null
    const id = hash ?? `run ${deploy.id}`
    if (commits.has(id)) continue
    const serving =
      hash === null ? [] : live.filter((one) => one.commit?.hash === hash && one.state === 'known')
    commits.set(id, {
      id,
      hash,
      ref: deployment?.source_ref ?? null,
      message: commit?.message ?? null,
      url: commit?.url ?? null,
      state: serving.length > 0 ? 'live' : stateOf(deploy),
      liveOn: serving.flatMap(({ server }) => server?.name ?? []),
      run: { id: deploy.id, created_at: deploy.created_at },
    })
  }
  const earlier = live.filter(({ commit, state }) => state === 'known' && commit && !commits.has(commit.hash))
  for (const [hash, serving] of Map.groupBy(earlier, ({ commit }) => commit!.hash)) {
    const { commit, action, since } = serving[0]!
    commits.set(hash, {
      ...{ id: hash, hash, ref: null, state: 'live' },
      message: commit!.message,
      url: commit!.url,
      liveOn: serving.flatMap(({ server }) => server?.name ?? []),
      run: action && since ? { id: action.id, created_at: since } : null,
    })
  }
  return [...commits.values()]
}

function stateOf({ status, status_reason_code }: Deploy): CommitState {
  switch (status) {
    case 'in-progress':
      return 'running'
    case 'pending':
    case 'waiting':
    case 'queued':
      return 'waiting'
    case 'failed':
      return status_reason_code === 'FAILED_REVERTED' ? 'reverted' : 'failed'
    case 'skipped':
      return 'skipped'
    case 'completed':
      return 'earlier'
  }
}
