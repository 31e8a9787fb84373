// Ages and running durations. All share one clock per interval, which stops while nothing on the page uses it.
import { useMemo, useSyncExternalStore } from 'react'
import { formatAge, formatDateTime, formatDuration, formatWait } from './format.ts'

function createClock(everyMs: number) {
  const listeners = new Set<() => void>()
  let now = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    now: () => now,
    subscribe(listener: () => void) {
      listeners.add(listener)
      now = Date.now()
      timer ??= setInterval(() => {
        now = Date.now()
        for (const tick of listeners) tick()
      }, everyMs)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

const AGE_INTERVAL_MS = 20_000
const seconds = createClock(1_000)
const ages = createClock(AGE_INTERVAL_MS)
const stopped = { now: () => 0, subscribe: () => () => {} }

/** The time, updated each second; 0 and never updated unless `isActive`. */
export function useSeconds(isActive: boolean): number {
  const clock = isActive ? seconds : stopped
  return useSyncExternalStore(clock.subscribe, clock.now)
}

export function Age({ of }: { of: string }) {
  const now = useSyncExternalStore(ages.subscribe, ages.now)
  const title = useMemo(() => formatDateTime(of), [of])
  return (
    <time dateTime={of} title={title}>
      {formatAge(Math.max(now, Date.now() - AGE_INTERVAL_MS) - Date.parse(of))}
    </time>
  )
}

/** How long something took, or has taken so far. */
export function Duration({ from, to }: { from: string | null; to: string | null }) {
  const now = useSeconds(from !== null && to === null)
  if (from === null) return <span aria-hidden="true">–</span>
  const end = to === null ? Math.max(now, Date.parse(from)) : Date.parse(to)
  return <span className="numeric">{formatDuration(end - Date.parse(from))}</span>
}

export function NextAttempt({ at }: { at: string }) {
  const left = Date.parse(at) - useSeconds(true)
  return <div>{left > 0 ? `Next attempt in ${formatWait(left)}` : 'Next attempt is due'}</div>
}
