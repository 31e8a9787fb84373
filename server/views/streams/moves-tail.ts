import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import { createSignal } from '#platform/queue/signal.ts'
import type { News } from './news.ts'
import { without } from './ranges.ts'
import { type ActionMove, findNow, readMoves } from './read-moves.ts'
import type { LiveSettings } from './settings.ts'
import { type Marks, settleGaps } from './settle-gaps.ts'
import type { Unseen } from './unseen.ts'

/**
 * The newest moves of all actions, read once for all streams of the process, for as long as there are any.
 *
 * Ids of events are taken in one order and committed in another. So the tail does not only read what comes after
 * the last id, but also every id that it has passed over, until that can no longer appear.
 */
export type MovesTail = {
  /** Resolves once it stands: from then on no move is missed. `onChange` is called when there are more. */
  join(onChange: () => void): Promise<TailMember>
}

export type TailMember = {
  /** What the tail has not seen, and how many moves it has seen since it began. */
  now(): { unseen: Unseen; count: number }
  /** Those after the first `count`, in the order in which they were seen; undefined when some are not kept any more. */
  since(count: number): readonly ActionMove[] | undefined
  leave(): void
}

export type TailParts = {
  db: Database
  news: News
  settings: Pick<LiveSettings, 'gatherMs' | 'lookMs' | 'awayMs' | 'keptMoves'>
  onError: (error: Error) => void
}

export function createMovesTail(parts: TailParts): MovesTail {
  const members = new Set<() => void>()
  let running: Promise<RunningTail> | undefined

  function start(): Promise<RunningTail> {
    const starting = startTail(parts, () => {
      for (const member of members) member()
    })
    starting.catch(() => {
      if (running === starting) running = undefined
    })
    return starting
  }

  function leave(member: () => void): void {
    members.delete(member)
    if (members.size > 0) return
    running?.then((tail) => tail.stop()).catch(() => {})
    running = undefined
  }

  return {
    async join(onChange) {
      const member = () => onChange()
      members.add(member)
      running ??= start()
      try {
        const { now, since } = await running
        return { now, since, leave: () => leave(member) }
      } catch (error) {
        leave(member)
        throw error
      }
    },
  }
}

type RunningTail = Pick<TailMember, 'now' | 'since'> & { stop(): void }

/** Read at a time, and given to a stream at a time. */
const PAGE = 500

async function startTail(parts: TailParts, onChange: () => void): Promise<RunningTail> {
  const { db, news, settings, onError } = parts
  const bell = createSignal()
  // Heard before the first look, so that nothing falls between the two.
  const stopHearing = news.onMove(bell.notify)
  let unseen = await findNow(db).catch((error) => {
    stopHearing()
    throw error
  })
  let kept: ActionMove[] = []
  let forgotten = 0
  let marks: Marks = []
  let isStopped = false

  async function readOn(): Promise<boolean> {
    const beganAt = performance.now()
    const moves = await readMoves(db, unseen, PAGE)
    for (const { id } of moves) unseen = without(unseen, id)
    kept.push(...moves)
    // Not every time, because it copies.
    if (kept.length >= settings.keptMoves * 2) {
      forgotten += kept.length - settings.keptMoves
      kept = kept.slice(-settings.keptMoves)
    }
    ;({ unseen, marks } = settleGaps(unseen, marks, { beganAt, endedAt: performance.now() }))
    if (moves.length > 0) onChange()
    return moves.length === PAGE
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      const wokenAt = performance.now()
      try {
        while (await readOn());
      } catch (error) {
        if (!isOutage(error)) onError(error as Error)
        await delay(settings.awayMs)
        continue
      }
      await bell.wait(settings.lookMs)
      await delay(Math.max(0, wokenAt + settings.gatherMs - performance.now()))
    }
  }

  void run()
  return {
    now: () => ({ unseen, count: forgotten + kept.length }),
    since: (count) =>
      count < forgotten ? undefined : kept.slice(count - forgotten, count - forgotten + PAGE),
    stop() {
      isStopped = true
      stopHearing()
      bell.notify()
    },
  }
}
