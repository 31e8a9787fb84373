// What the changes section says. Pure.
import type { ActionChanges, ReleaseComparison } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'

/** One line about all servers; null when there is nothing to show. */
export function changesSummary({ state, reason, reason_human_readable }: ActionChanges): string | null {
  if (reason === 'not_a_deploy') return null
  if (state === 'pending') return 'What ships is known once the source is fetched.'
  return state === 'unavailable' ? reason_human_readable : null
}

/** `1a2b3c4d → 5e6f7a8b: 3 commits, 1 file` */
export function comparisonTitle({ from, to, commits, files }: ReleaseComparison): string {
  const before = from === null ? 'nothing' : (from.commit_sha?.slice(0, 8) ?? from.release_name)
  const counts = [commits && plural(commits.total, 'commit'), files && plural(files.total, 'file')]
  const shown = counts.filter((text) => text !== null).join(', ')
  return `${before} → ${to.commit_sha?.slice(0, 8) ?? '…'}${shown && `: ${shown}`}`
}

/** Says how many of a list are not shown; empty when all are. */
export function omitted({ total, items }: { total: number; items: readonly unknown[] }): string {
  return items.length < total ? `and ${total - items.length} more` : ''
}
