// Server-sent events. Browsers allow six connections per origin, so all tabs share one stream of action events: the
// tab that holds the lock reads it and broadcasts. Without locks (plain HTTP from another machine) each tab reads
// its own.
import { createEmitter, throttle } from './signals.ts'
import type { ActionMove } from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: each handler declares the type of its own data
type EventHandlers = Record<string, (data: any) => void>

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

/**
 * An EventSource that reconnects. The browser's own stops for good when the response is not a stream (a 503 during a
 * restart, a 401 after the session ended); this one retries with backoff until it is closed. Handlers are named by
 * event type and receive parsed JSON.
 */
export function openStream(url: string, handlers: EventHandlers): { close(): void } {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let delay = FIRST_RETRY_MS

  function open(): void {
    source = new EventSource(url)
    source.onopen = () => {
      delay = FIRST_RETRY_MS
    }
    source.onerror = () => {
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(open, delay)
      delay = Math.min(delay * 2, MAX_RETRY_MS)
    }
    for (const [type, handle] of Object.entries(handlers))
      source.addEventListener(type, (event) => handle(JSON.parse((event as MessageEvent).data)))
  }

  open()
  return {
    close() {
      clearTimeout(timer)
      source?.close()
    },
  }
}

/** Events within this time are delivered together. */
const BATCH_MS = 200

type ActionEventListener = {
  onEvents(events: ActionMove[]): void
  /** Events may have been missed: refetch. */
  onGap(): void
}

export type ActionEvents = ReturnType<typeof createActionEvents>

type Message = { kind: 'events'; events: ActionMove[] } | { kind: 'gap' }
type Deliver = (message: Message) => void

export function createActionEvents() {
  const messages = createEmitter<[Message]>()
  let stopReading: (() => void) | undefined
  return {
    start() {
      stopReading ??= navigator.locks ? readShared(messages.emit) : readOwn(messages.emit)
    },
    stop() {
      stopReading?.()
      stopReading = undefined
    },
    subscribe: ({ onEvents, onGap }: ActionEventListener) =>
      messages.subscribe((message) => (message.kind === 'events' ? onEvents(message.events) : onGap())),
  }
}

function readOwn(deliver: Deliver): () => void {
  let batch: ActionMove[] = []
  const flush = throttle(() => {
    const events = batch
    batch = []
    deliver({ kind: 'events', events })
  }, BATCH_MS)
  const stream = openStream('/actions/stream', {
    action(event: ActionMove) {
      batch.push(event)
      flush()
    },
    // Data read before this may be stale; after a short interruption the browser resumes without it.
    ready: () => deliver({ kind: 'gap' }),
  })
  return () => {
    flush.cancel()
    stream.close()
  }
}

function readShared(deliver: Deliver): () => void {
  const channel = new BroadcastChannel('gantry-action-events')
  const closing = new AbortController()
  channel.onmessage = ({ data }) => deliver(data as Message)
  navigator.locks
    .request('gantry-action-events', { signal: closing.signal }, () => {
      const stop = readOwn((message) => {
        channel.postMessage(message)
        deliver(message)
      })
      return new Promise<void>((resolve) => {
        closing.signal.addEventListener('abort', () => {
          stop()
          resolve()
        })
      })
    })
    .catch(() => {
      // Aborted while waiting for the lock.
    })
  return () => {
    closing.abort()
    channel.close()
  }
}
