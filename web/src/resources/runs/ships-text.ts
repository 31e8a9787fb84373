import type { ReleaseComparison } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'

/** Pure. What changes on these servers, in one line. */
export function shipsText({
  state,
  commits,
  removed_commits,
  reason_human_readable,
}: ReleaseComparison): string {
  if (state === 'pending') return 'What ships is known once the source is fetched.'
  if (commits === null) return reason_human_readable ?? 'What ships is unknown.'
  if (commits.total > 0) return `Ships ${plural(commits.total, 'commit')}:`
  return removed_commits && removed_commits.total > 0
    ? 'Ships no new commit.'
    : 'Ships nothing new: this commit is live.'
}
