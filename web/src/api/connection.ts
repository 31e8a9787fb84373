// Whether the service can be reached. While it cannot, nothing is asked of it but whether it is back: every other
// question waits (TanStack Query holds them while "offline") and is asked again then.
import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

const ASK_EVERY_MS = 1_500

export type Connection = {
  isAway(): boolean
  markAway(): void
  subscribe(listener: () => void): () => void
}

export function createConnection(): Connection {
  const listeners = new Set<() => void>()
  let away = false

  function tell(value: boolean): void {
    if (away === value) return
    away = value
    onlineManager.setOnline(!away)
    for (const listener of listeners) listener()
  }

  async function watch(): Promise<void> {
    while (away) {
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
      const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined)
      if (answer?.ok) tell(false)
    }
  }

  // The browser's own idea of being online says nothing about a service on this very machine.
  onlineManager.setEventListener(() => () => {})
  return {
    isAway: () => away,
    markAway() {
      if (away) return
      tell(true)
      void watch()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function useIsAway(connection: Connection): boolean {
  return useSyncExternalStore(connection.subscribe, connection.isAway)
}
