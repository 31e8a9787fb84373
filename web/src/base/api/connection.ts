// Whether the service is reachable. While it is not, only its health is polled: TanStack Query holds every other
// request back while "offline" and repeats it afterward.
import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { createEmitter } from './signals.ts'

const POLL_INTERVAL_MS = 1_500

export type Connection = ReturnType<typeof createConnection>

export function createConnection() {
  const changed = createEmitter()
  let reachable = true

  function setReachable(value: boolean): void {
    reachable = value
    onlineManager.setOnline(value)
    changed.emit()
  }

  async function pollUntilReachable(): Promise<void> {
    while (!reachable) {
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS))
      const response = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined)
      if (response?.ok) setReachable(true)
    }
  }

  // The browser's own idea of being online says nothing about a service on this very machine.
  onlineManager.setEventListener(() => () => {})
  return {
    isReachable: () => reachable,
    markUnreachable() {
      if (!reachable) return
      setReachable(false)
      void pollUntilReachable()
    },
    subscribe: changed.subscribe,
  }
}

export function useIsReachable({ subscribe, isReachable }: Connection): boolean {
  return useSyncExternalStore(subscribe, isReachable)
}
