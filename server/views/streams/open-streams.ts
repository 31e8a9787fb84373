import type { ServerResponse } from 'node:http'
import { finished, Readable } from 'node:stream'
import { isOutage } from '#platform/database/outages.ts'
import { unlessStalled } from '#platform/http/stalled-clients.ts'
import type { StreamSettings } from './settings.ts'

export type StreamSlot = ReturnType<typeof createSlot>

/**
 * The streams that this process keeps open: limited in number, closed when their permission ends, when the client
 * stalls, and when the process stops.
 */
export function createOpenStreams(settings: StreamSettings, onError: (error: Error) => void) {
  const slots = new Set<StreamSlot>()
  let isClosed = false
  // All in one turn of the event loop, so that they share their statements.
  const timer = setInterval(() => streams.recheck(), settings.recheckMs)
  timer.unref()

  const streams = {
    acquire(userId: number): StreamSlot | 'full' | 'too-many' {
      if (isClosed || slots.size >= settings.maxStreams) return 'full'
      const own = [...slots].filter((slot) => slot.userId === userId)
      if (own.length >= settings.maxPerUser) return 'too-many'
      const slot = createSlot(userId, settings, () => slots.delete(slot))
      slots.add(slot)
      return slot
    },
    /** Now, because something of this user's access ended; without a user, for everybody. */
    recheck(userId?: number) {
      for (const slot of slots) if (userId === undefined || slot.userId === userId) void slot.recheck(onError)
    },
    /** Closes all of them and accepts no more. */
    async close() {
      isClosed = true
      clearInterval(timer)
      await Promise.all([...slots].map((slot) => slot.end()))
    },
  }
  return streams
}

function createSlot(userId: number, settings: StreamSettings, onRelease: () => void) {
  const controller = new AbortController()
  const released = Promise.withResolvers<void>()
  let response: ServerResponse | undefined
  let isAllowed: (() => Promise<boolean>) | undefined
  let check: 'none' | 'running' | 'outdated' = 'none'

  const isOutdated = () => check === 'outdated'

  const slot = {
    userId,
    /** Aborts when the stream has to end, for whatever reason. */
    signal: controller.signal,
    /**
     * The events as a response body, read from the source as fast as the client takes them. The slot is released
     * when the response is over; until then `mayContinue` is called regularly.
     */
    fill(into: ServerResponse, events: AsyncGenerator<string>, mayContinue: () => Promise<boolean>) {
      response = into
      isAllowed = mayContinue
      // Also when the client is gone: a quiet source would not notice.
      finished(response, slot.release)
      return Readable.from(unlessStalled(into, events, settings.stallMs), { highWaterMark: 1 })
    },
    /** Called directly only for a slot that was not filled. */
    release() {
      controller.abort()
      onRelease()
      released.resolve()
    },
    /** Cleanly if the client reads the rest in time, otherwise by closing the connection. */
    async end() {
      controller.abort()
      const timer = setTimeout(() => response?.destroy(), settings.closeGraceMs)
      await released.promise
      clearTimeout(timer)
    },
    async recheck(onError: (error: Error) => void) {
      if (!isAllowed) return
      // What the running check has read may be older than the reason for this one.
      if (check !== 'none') {
        check = 'outdated'
        return
      }
      do {
        check = 'running'
        try {
          if (!(await isAllowed())) await slot.end()
        } catch (error) {
          // Without a database there is nothing to send either.
          if (!isOutage(error)) onError(error as Error)
        }
      } while (isOutdated())
      check = 'none'
    },
  }
  return slot
}
