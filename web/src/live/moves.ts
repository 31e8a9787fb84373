// What happens to actions, for every page. Browsers keep six connections to a service at most, so all tabs share one
// stream: the tab that holds the lock reads it and passes moves on. Without locks (plain HTTP on another machine) each
// tab reads its own.
import type { ActionMove } from '../api-types.ts'
import { openStream } from './event-source.ts'

/** Moves that came within this time are passed on together. */
const GATHER_MS = 200

export type MovesListener = {
  onMoves(moves: ActionMove[]): void
  /** Moves may have been missed: read anew. */
  onGap?(): void
}

export type LiveMoves = {
  start(): void
  stop(): void
  listen(listener: MovesListener): () => void
}

type Message = { kind: 'moves'; moves: ActionMove[] } | { kind: 'gap' }

export function createLiveMoves(): LiveMoves {
  const listeners = new Set<MovesListener>()
  let stopReading: (() => void) | undefined

  function deliver(message: Message): void {
    for (const listener of listeners) {
      if (message.kind === 'moves') listener.onMoves(message.moves)
      else listener.onGap?.()
    }
  }

  return {
    start() {
      stopReading ??= navigator.locks ? readTogether(deliver) : readAlone(deliver)
    },
    stop() {
      stopReading?.()
      stopReading = undefined
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function readAlone(deliver: (message: Message) => void): () => void {
  let gathered: ActionMove[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const stream = openStream('/actions/stream', {
    on: {
      action(move: ActionMove) {
        gathered.push(move)
        timer ??= setTimeout(() => {
          timer = undefined
          const moves = gathered
          gathered = []
          deliver({ kind: 'moves', moves })
        }, GATHER_MS)
      },
      // What was read before this may already be old; after a short cut the browser resumes without it.
      ready: () => deliver({ kind: 'gap' }),
    },
  })
  return () => {
    clearTimeout(timer)
    stream.close()
  }
}

function readTogether(deliver: (message: Message) => void): () => void {
  const channel = new BroadcastChannel('gantry-moves')
  const leaving = new AbortController()
  channel.onmessage = (event: MessageEvent<Message>) => deliver(event.data)
  navigator.locks
    .request('gantry-moves', { signal: leaving.signal }, () => {
      const stop = readAlone((message) => {
        channel.postMessage(message)
        deliver(message)
      })
      return new Promise<void>((resolve) => {
        leaving.signal.addEventListener('abort', () => {
          stop()
          resolve()
        })
      })
    })
    .catch(() => {
      // Left while waiting for the lock.
    })
  return () => {
    leaving.abort()
    channel.close()
  }
}
