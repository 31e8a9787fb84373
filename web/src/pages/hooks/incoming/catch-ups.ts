// What a connected hook caught up with, in words. Pure.
import type { components } from '#client/index.ts'
import { formatClock, formatDateTime } from '#web/base/ui/format.ts'
import { plural } from '#web/base/ui/status.ts'

export type CatchUp = components['schemas']['CatchUp']

/** `3 calls were caught up after the outage of 02:10–02:25.`, and what became of the others. */
export function catchUpText(catchUp: CatchUp, now = new Date()): string {
  const { caught_up, superseded, waiting, lost } = catchUp
  const outage = outageText(catchUp, now)
  const were = (count: number) => (count === 1 ? 'was' : 'were')
  const isUnderWay = caught_up === 0 && waiting > 0
  const what = isUnderWay
    ? `${plural(waiting, 'call')} ${waiting === 1 ? 'is' : 'are'} being`
    : `${caught_up === 0 ? 'No call' : plural(caught_up, 'call')} ${were(caught_up || 1)}`
  const first = `${what} caught up after the outage of ${outage}`
  const rest = [
    waiting > 0 && !isUnderWay && `${waiting} ${were(waiting)} requested again`,
    superseded > 0 && `${plural(superseded, 'older push', 'older pushes')} ${were(superseded)} superseded`,
    lost > 0 && `${lost} ${were(lost)} lost`,
  ].filter((part) => part !== false)
  return `${[first, ...rest].join('; ')}.`
}

/** `02:10–02:25`; one time where nothing else is known. */
function outageText({ missed_from, missed_until }: CatchUp, now: Date): string {
  const from = formatClock(missed_from, now)
  const isSameDay = new Date(missed_from).toDateString() === new Date(missed_until).toDateString()
  // The date is said once.
  const until = isSameDay ? formatClock(missed_until, new Date(missed_until)) : formatDateTime(missed_until)
  return from.endsWith(until) ? from : `${from}–${until}`
}
