// When nothing starts, as the form of a freeze holds and sends it. Pure.
import type { components } from '#client/index.ts'
import type { Freeze } from '#web/base/api/types.ts'
import { formatDateTime } from '#web/base/ui/format.ts'

export type FreezeBody = components['schemas']['CreateEnvironmentFreezeRequest']
export type Day = NonNullable<Freeze['weekly']>['from']['day']

export const DAYS: Record<Day, string> = {
  monday: 'Monday',
  tuesday: 'Tuesday',
  wednesday: 'Wednesday',
  thursday: 'Thursday',
  friday: 'Friday',
  saturday: 'Saturday',
  sunday: 'Sunday',
}

/** Times of freezes that happen once are those of the clock on the wall, as inputs of browsers have them. */
export type FreezeValues = {
  name: string
  reason: string
  repeats: 'once' | 'weekly'
  starts_at: string
  ends_at: string
  from_day: Day
  from_time: string
  to_day: Day
  to_time: string
  time_zone: string
  when_over: Freeze['when_over']
}

export function freezeValues(freeze: Freeze | undefined, now: Date, timeZone: string): FreezeValues {
  const { from, to } = freeze?.weekly ?? { from: undefined, to: undefined }
  return {
    name: freeze?.name ?? '',
    reason: freeze?.reason ?? '',
    repeats: freeze?.weekly ? 'weekly' : 'once',
    starts_at: wallTime(freeze?.starts_at ?? now.toISOString()),
    ends_at: freeze?.ends_at ? wallTime(freeze.ends_at) : '',
    from_day: from?.day ?? 'friday',
    from_time: from?.time ?? '16:00',
    to_day: to?.day ?? 'monday',
    to_time: to?.time ?? '08:00',
    time_zone: freeze?.time_zone ?? timeZone,
    when_over: freeze?.when_over ?? 'all',
  }
}

/** `2026-11-18T15:20`, in the time zone of this browser. */
export function wallTime(iso: string): string {
  const time = new Date(iso)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const instantOf = (wall: string) => (wall === '' ? null : new Date(wall).toISOString())

export function freezeBody(values: FreezeValues): FreezeBody {
  const { name, reason, repeats, when_over } = values
  const common = { name: name.trim(), reason: reason.trim(), when_over }
  if (repeats === 'once') {
    const starts_at = instantOf(values.starts_at)
    return { ...common, ...(starts_at && { starts_at }), ends_at: instantOf(values.ends_at) }
  }
  return {
    ...common,
    weekly: {
      from: { day: values.from_day, time: values.from_time },
      to: { day: values.to_day, time: values.to_time },
    },
    time_zone: values.time_zone.trim(),
  }
}

/** The input of a field that the API names: `weekly.from.time` is in `from_time`. */
export function freezeField(field: string): string | undefined {
  const [first, side, part] = field.split('.')
  return first === 'weekly' && side ? `${side}_${part ?? 'time'}` : undefined
}

/** "Every week from Friday 16:00 to Monday 08:00 (Europe/Berlin)". */
export function describeFreeze({ weekly, time_zone, starts_at, ends_at }: Freeze): string {
  if (weekly) {
    const { from, to } = weekly
    return `Every week from ${DAYS[from.day]} ${from.time} to ${DAYS[to.day]} ${to.time} (${time_zone})`
  }
  const start = `From ${formatDateTime(starts_at!)}`
  return ends_at ? `${start} to ${formatDateTime(ends_at)}` : `${start}, until someone ends it`
}

/** One that is over holds nothing. */
export const isOver = ({ ends_at }: Freeze, now: Date) =>
  ends_at !== null && Date.parse(ends_at) <= now.getTime()
