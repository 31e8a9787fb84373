// How deliveries went, hour by hour. Pure.
import type { Delivery } from './deliveries.ts'

const MS_PER_HOUR = 3_600_000
const HOURS = 24

export type DeliveryHour = {
  /** When it began, as an ISO time. */
  hour: string
  /** At the first attempt. */
  delivered: number
  /** After several attempts, or still being retried. */
  retried: number
  failed: number
}

/**
 * The last 24 hours, the current one last. When there are older deliveries than those given (`isCut`), only hours of which all
 * are given.
 */
export function deliveriesPerHour(
  deliveries: readonly Delivery[],
  isCut: boolean,
  now: number,
): DeliveryHour[] {
  const current = Math.floor(now / MS_PER_HOUR)
  const hourOf = ({ createdAt }: Delivery) => Math.floor(Date.parse(createdAt) / MS_PER_HOUR)
  const oldest = Math.min(...deliveries.map(hourOf))
  const first = Math.max(current - HOURS + 1, isCut ? oldest + 1 : 0)
  const byHour = Map.groupBy(deliveries, hourOf)
  return Array.from({ length: Math.max(0, current - first + 1) }, (_, index) => {
    const some = byHour.get(first + index) ?? []
    const count = (matches: (one: Delivery) => boolean) => some.filter(matches).length
    return {
      hour: new Date((first + index) * MS_PER_HOUR).toISOString(),
      delivered: count(({ state, attempts }) => state === 'delivered' && attempts === 1),
      retried: count(
        ({ state, attempts }) => state === 'retrying' || (state === 'delivered' && attempts > 1),
      ),
      failed: count(({ state }) => state === 'failed'),
    }
  })
}
