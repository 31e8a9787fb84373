import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import type { Listener } from '#platform/database/listen.ts'
import { createSignal } from '#platform/queue/signal.ts'

/** What is told about actions, handed to those who watch them. One per process: all streams share its connection. */
export type News = {
  watchAction(actionId: number): Watch
  /** Calls at every move of any action. Returns how to stop that. */
  onMove(call: () => void): () => void
}

/** What is new about one action since the last time one asked. */
export type Watch = {
  take(): { mayHaveMoved: boolean; logs: LogEnd[] }
  /** Resolves when there is something to take, or after so many milliseconds. */
  wait(ms: number): Promise<void>
  /** As if it had moved. */
  wake(): void
  stop(): void
}

/** The log of a step goes up to here now. */
export type LogEnd = { targetId: number; stepOrder: number; end: number }

const MESSAGE = /^(?:move (\d{1,16})|log (\d{1,16}) (\d{1,16}) (\d{1,9}) (\d{1,16}))$/

export async function createNews(listener: Listener): Promise<News> {
  const watches = new Map<number, Set<{ move(): void; log(log: LogEnd): void }>>()
  const movers = new Set<() => void>()

  await listener.subscribe(ACTIONS_CHANNEL, {
    onNotify(message) {
      const [, moved, ...log] = MESSAGE.exec(message) ?? []
      if (moved !== undefined) {
        for (const watch of watches.get(Number(moved)) ?? []) watch.move()
        for (const call of movers) call()
      } else if (log[0] !== undefined) {
        const [actionId, targetId, stepOrder, end] = log.map(Number) as [number, number, number, number]
        for (const watch of watches.get(actionId) ?? []) watch.log({ targetId, stepOrder, end })
      }
    },
    // What was told in between was missed: everybody has to look.
    onReconnect() {
      for (const set of watches.values()) for (const watch of set) watch.move()
      for (const call of movers) call()
    },
  })

  return {
    watchAction(actionId) {
      const bell = createSignal()
      let mayHaveMoved = false
      // One entry per step at most, however fast it prints.
      let logs = new Map<string, LogEnd>()
      const watch = {
        move() {
          mayHaveMoved = true
          bell.notify()
        },
        log(log: LogEnd) {
          logs.set(`${log.targetId} ${log.stepOrder}`, log)
          bell.notify()
        },
      }
      const here = watches.get(actionId) ?? new Set()
      watches.set(actionId, here.add(watch))
      return {
        take() {
          const taken = { mayHaveMoved, logs: [...logs.values()] }
          mayHaveMoved = false
          logs = new Map()
          return taken
        },
        wait: (ms) => bell.wait(ms),
        wake: watch.move,
        stop() {
          here.delete(watch)
          if (here.size === 0 && watches.get(actionId) === here) watches.delete(actionId)
        },
      }
    },
    onMove(call) {
      movers.add(call)
      return () => void movers.delete(call)
    },
  }
}
