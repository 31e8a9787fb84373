import { NO_END, overlap } from './ranges.ts'
import { SETTLED_AFTER_MS } from './read-moves.ts'
import { lastSeen, type Unseen } from './unseen.ts'

/** When which id was the last one that was seen, oldest first. */
export type Marks = readonly { at: number; last: number }[]

/** Often enough, and few. */
const MARK_EVERY_MS = 5_000

/**
 * Gives up ids that can no longer appear, after a read. Ids below a mark were taken before it; what had not
 * appeared when a read began well after it never will. Pure.
 */
export function settleGaps(
  unseen: Unseen,
  marks: Marks,
  read: { beganAt: number; endedAt: number },
): { unseen: Unseen; marks: Marks } {
  const settled = marks.findLastIndex((mark) => mark.at <= read.beganAt - SETTLED_AFTER_MS)
  const rest = marks.slice(settled + 1)
  const isMarked = rest.length > 0 && rest.at(-1)!.at > read.endedAt - MARK_EVERY_MS
  return {
    unseen: settled === -1 ? unseen : overlap(unseen, [[marks[settled]!.last + 1, NO_END]]),
    marks: isMarked ? rest : [...rest, { at: read.endedAt, last: lastSeen(unseen) }],
  }
}
