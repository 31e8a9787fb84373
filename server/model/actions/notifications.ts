import type { Listener } from '#platform/database/listen.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { ACTIONS_CHANNEL } from './channel.ts'

export type ActionNotifications = Awaited<ReturnType<typeof createActionNotifications>>

/** What has changed about one action since the last `take`. */
export type ActionWatch = ReturnType<ActionNotifications['watchAction']>

/** The log of a step now reaches this offset. */
export type LogEnd = { targetId: number; stepOrder: number; end: number }

const MESSAGE = /^(?:move (\d{1,16})|log (\d{1,16}) (\d{1,16}) (\d{1,9}) (\d{1,16}))$/

/** Dispatches notifications about actions to streams and waits. One per process: all of them share its connection. */
export async function createActionNotifications(listener: Listener) {
  const watches = new Map<number, Set<{ onMove(): void; onLog(log: LogEnd): void }>>()
  const moveListeners = new Set<() => void>()

  await listener.subscribe(ACTIONS_CHANNEL, {
    onNotify(message) {
      const [, moved, ...log] = MESSAGE.exec(message) ?? []
      if (moved !== undefined) {
        for (const watch of watches.get(Number(moved)) ?? []) watch.onMove()
        for (const call of moveListeners) call()
      } else if (log[0] !== undefined) {
        const [actionId, targetId, stepOrder, end] = log.map(Number) as [number, number, number, number]
        for (const watch of watches.get(actionId) ?? []) watch.onLog({ targetId, stepOrder, end })
      }
    },
    // Notifications sent in between were lost: everyone has to read again.
    onReconnect() {
      for (const set of watches.values()) for (const watch of set) watch.onMove()
      for (const call of moveListeners) call()
    },
  })

  return {
    watchAction(actionId: number) {
      const changed = createSignal()
      let mayHaveMoved = false
      // At most one entry per step, however fast it prints.
      let logs = new Map<string, LogEnd>()
      const watch = {
        onMove() {
          mayHaveMoved = true
          changed.notify()
        },
        onLog(log: LogEnd) {
          logs.set(`${log.targetId} ${log.stepOrder}`, log)
          changed.notify()
        },
      }
      const ofAction = watches.getOrInsertComputed(actionId, () => new Set()).add(watch)
      return {
        take() {
          const taken = { mayHaveMoved, logs: [...logs.values()] }
          mayHaveMoved = false
          logs = new Map()
          return taken
        },
        /** Resolves when there is something to take, or after this many milliseconds. */
        wait: (ms: number) => changed.wait(ms),
        /** As if the action had moved. */
        wake: watch.onMove,
        stop() {
          ofAction.delete(watch)
          if (ofAction.size === 0 && watches.get(actionId) === ofAction) watches.delete(actionId)
        },
      }
    },
    /** Calls at every move of any action. Returns how to stop that. */
    onMove(call: () => void) {
      moveListeners.add(call)
      return () => void moveListeners.delete(call)
    },
  }
}
