import { setTimeout as delay } from 'node:timers/promises'
import type { ActionNotifications } from '#model/actions/notifications.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { expireGaps, type Marks } from './feed-cursor.ts'
import { without } from './ranges.ts'
import { type ActionMove, currentPosition, readMoves } from './read-feed.ts'
import type { StreamSettings } from './settings.ts'

type FeedTailDeps = {
  db: Database
  notifications: ActionNotifications
  settings: StreamSettings
  onError: (error: Error) => void
}

export type FeedTail = Pick<RunningTail, 'position' | 'since'>

/**
 * The newest moves of all actions, read once for all streams of the process, for as long as there are any.
 *
 * Ids of events are taken in one order and committed in another. So the tail reads not only what comes after the
 * last id, but also every id that it skipped, until that can no longer appear.
 */
export function createFeedTail(deps: FeedTailDeps) {
  const members = new Set<() => void>()
  let running: Promise<RunningTail> | undefined

  function start(): Promise<RunningTail> {
    const starting = startTail(deps, () => {
      for (const notify of members) notify()
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
    /** Resolves once the tail reads: from then on no move is missed. `onChange` is called when there are more. */
    async join(onChange: () => void): Promise<FeedTail & { leave(): void }> {
      const member = () => onChange()
      members.add(member)
      running ??= start()
      try {
        const { position, since } = await running
        return { position, since, leave: () => leave(member) }
      } catch (error) {
        leave(member)
        throw error
      }
    },
  }
}

/** Read at a time, and handed to a stream at a time. */
const PAGE = 500

type RunningTail = Awaited<ReturnType<typeof startTail>>

async function startTail({ db, notifications, settings, onError }: FeedTailDeps, onChange: () => void) {
  const wakeUp = createSignal()
  // Subscribed before the first read, so that nothing falls between the two.
  const unsubscribe = notifications.onMove(wakeUp.notify)
  let unseen = await currentPosition(db).catch((error) => {
    unsubscribe()
    throw error
  })
  let buffered: ActionMove[] = []
  let dropped = 0
  let marks: Marks = []
  let isStopped = false

  async function readPage(): Promise<boolean> {
    const beganAt = performance.now()
    const moves = await readMoves(db, unseen, PAGE)
    for (const { id } of moves) unseen = without(unseen, id)
    buffered.push(...moves)
    // Not every time, because it copies.
    if (buffered.length >= settings.bufferedMoves * 2) {
      dropped += buffered.length - settings.bufferedMoves
      buffered = buffered.slice(-settings.bufferedMoves)
    }
    ;({ unseen, marks } = expireGaps(unseen, marks, { beganAt, endedAt: performance.now() }))
    if (moves.length > 0) onChange()
    return moves.length === PAGE
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      const wokenAt = performance.now()
      try {
        while (await readPage());
      } catch (error) {
        if (!isOutage(error)) onError(error as Error)
        await delay(settings.outageRetryMs)
        continue
      }
      await wakeUp.wait(settings.pollMs)
      await delay(Math.max(0, wokenAt + settings.batchMs - performance.now()))
    }
  }

  void run()
  return {
    /** What the tail has not seen, and how many moves it has seen since it began. */
    position: () => ({ unseen, count: dropped + buffered.length }),
    /** The moves after the first `count`, in the order in which they were seen; undefined when some were dropped. */
    since: (count: number): readonly ActionMove[] | undefined =>
      count < dropped ? undefined : buffered.slice(count - dropped, count - dropped + PAGE),
    stop() {
      isStopped = true
      unsubscribe()
      wakeUp.notify()
    },
  }
}
