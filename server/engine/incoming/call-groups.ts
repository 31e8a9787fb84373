import { takesLocks } from './commit-calls.ts'
import { type Crowd, createGroupCommit, type GroupCommit } from './group-commit.ts'
import type { CallToStore } from './insert-calls.ts'

/**
 * Calls that may have to wait for a lock of their environment are committed together with others of that environment
 * only: a lock that is not released refuses no call of another one.
 */
export function createCallGroups(
  ...[commit, lookUp]: Parameters<typeof createGroupCommit>
): Pick<GroupCommit, 'store'> {
  const crowd: Crowd = { calls: 0, bytes: 0 }
  const openGroup = () => createGroupCommit(commit, lookUp, crowd)
  const quick = openGroup()
  const byEnvironment = new Map<number, GroupCommit>()
  const groupOf = (call: CallToStore) =>
    takesLocks(call) ? byEnvironment.getOrInsertComputed(call.hook.pipeline.environmentId, openGroup) : quick
  return { store: (call) => groupOf(call).store(call) }
}
