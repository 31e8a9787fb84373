import { useMemo } from 'react'
import { useMinutes, useSeconds } from './now.ts'
import { formatAge, formatDuration, formatMoment } from './time.ts'

export function Age({ of }: { of: string }) {
  const now = useMinutes()
  const moment = useMemo(() => formatMoment(of), [of])
  return (
    <time dateTime={of} title={moment}>
      {formatAge(Math.max(now, Date.now() - 20_000) - Date.parse(of))}
    </time>
  )
}

/** How long something took, or has taken so far. */
export function Duration({ from, to }: { from: string | null; to: string | null }) {
  const now = useSeconds(from !== null && to === null)
  if (from === null) return <span aria-hidden="true">–</span>
  const end = to === null ? Math.max(now, Date.parse(from)) : Date.parse(to)
  return <span className="numbers">{formatDuration(end - Date.parse(from))}</span>
}
