import type { ServerResponse } from 'node:http'
import { finished, Readable } from 'node:stream'
import { isOutage } from '#platform/database/outages.ts'
import type { LiveSettings } from './settings.ts'

/** The streams that this process holds open: not too many, none longer than it may, and none when it stops. */
export type OpenStreams = {
  open(userId: number): Opening
  /** Ends all of them, and lets none begin any more. */
  close(): Promise<void>
}

export type Opening = { kind: 'opened'; place: StreamPlace } | { kind: 'full' } | { kind: 'too-many' }

export type StreamPlace = {
  /** Aborts when the stream has to end, for whatever reason. */
  signal: AbortSignal
  /**
   * The events as the body of a response. They are read from the source as fast as the receiver takes them. The
   * place becomes free when the response is over. `isAllowed` is asked again and again until then.
   */
  fill(response: ServerResponse, events: AsyncGenerator<string>, isAllowed: () => Promise<boolean>): Readable
  /** For a place that was not filled. */
  free(): void
}

type Limits = Pick<LiveSettings, 'mostStreams' | 'mostPerUser' | 'recheckMs' | 'stallMs' | 'lastWordsMs'>

export function createOpenStreams(limits: Limits, onError: (error: Error) => void): OpenStreams {
  const places = new Set<Place>()
  let isClosed = false
  // All in one turn, so that they share their statements.
  const timer = setInterval(() => {
    for (const place of places) void place.recheck(onError)
  }, limits.recheckMs)
  timer.unref()

  return {
    open(userId) {
      if (isClosed || places.size >= limits.mostStreams) return { kind: 'full' }
      const own = [...places].filter((place) => place.userId === userId)
      if (own.length >= limits.mostPerUser) return { kind: 'too-many' }
      const place = createPlace(userId, limits, () => places.delete(place))
      places.add(place)
      return { kind: 'opened', place }
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      await Promise.all([...places].map((place) => place.end()))
    },
  }
}

type Place = StreamPlace & {
  userId: number
  /** Properly if the receiver takes it, otherwise by cutting the connection. */
  end(): Promise<void>
  recheck(onError: (error: Error) => void): Promise<void>
}

function createPlace(userId: number, limits: Limits, onFree: () => void): Place {
  const controller = new AbortController()
  const freed = Promise.withResolvers<void>()
  let response: ServerResponse | undefined
  let isAllowed: (() => Promise<boolean>) | undefined
  let isBeingChecked = false

  async function* unlessStalled(events: AsyncGenerator<string>): AsyncGenerator<string> {
    for await (const text of events) {
      const timer = setTimeout(() => response?.destroy(), limits.stallMs)
      try {
        yield text
      } finally {
        clearTimeout(timer)
      }
    }
  }

  const place: Place = {
    userId,
    signal: controller.signal,
    fill(into, events, mayGoOn) {
      response = into
      isAllowed = mayGoOn
      // Also when the receiver is gone: a quiet source would not notice by itself.
      finished(response, place.free)
      return Readable.from(unlessStalled(events), { highWaterMark: 1 })
    },
    free() {
      controller.abort()
      onFree()
      freed.resolve()
    },
    async end() {
      controller.abort()
      const timer = setTimeout(() => response?.destroy(), limits.lastWordsMs)
      await freed.promise
      clearTimeout(timer)
    },
    async recheck(onError) {
      if (isBeingChecked || !isAllowed) return
      isBeingChecked = true
      try {
        if (!(await isAllowed())) await place.end()
      } catch (error) {
        // Without a database there is nothing to be sent either.
        if (!isOutage(error)) onError(error as Error)
      } finally {
        isBeingChecked = false
      }
    },
  }
  return place
}
