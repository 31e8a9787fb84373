import { ATTEMPTS_CHANNEL } from '#engine/outgoing/store-statement.ts'
import type { Listener } from '#platform/database/listen.ts'

/** Dispatches notifications about attempts of deliveries to streams; a change of any hook notifies all of them. */
export async function createAttemptNotifications(listener: Listener) {
  const watches = new Map<string, Set<() => void>>()
  const notifyAll = () => {
    for (const calls of watches.values()) for (const call of calls) call()
  }
  await listener.subscribe(ATTEMPTS_CHANNEL, {
    onNotify(hookId) {
      for (const call of watches.get(hookId) ?? []) call()
    },
    // Notifications sent in between were lost.
    onReconnect: notifyAll,
  })
  await listener.subscribe('tree', { onNotify: notifyAll })

  return {
    /** Calls when a delivery of the hook was attempted, or the hook may have been removed. Returns how to stop that. */
    watchHook(hookId: string, notify: () => void) {
      const call = () => notify()
      const ofHook = watches.getOrInsertComputed(hookId, () => new Set()).add(call)
      return () => {
        ofHook.delete(call)
        if (ofHook.size === 0 && watches.get(hookId) === ofHook) watches.delete(hookId)
      }
    },
  }
}
