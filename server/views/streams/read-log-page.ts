import { CompiledQuery } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'

/** A piece of a step's log; offsets count bytes of UTF-8. */
export type LogPage = { text: string; start: number; end: number }

/** The log of a step from an offset on, as much as is sent in one go; undefined when there is no more. */
export type ReadLogPage = (
  targetId: number,
  stepOrder: number,
  offset: number,
) => Promise<LogPage | undefined>

/** A page ends with the chunk that reaches this, so it is at most one chunk longer. */
const PAGE_BYTES = 64 * 1024

const PAGES = `
  select wanted.n, page.*
  from unnest($1::bigint[], $2::int[], $3::bigint[]) with ordinality as wanted (target_id, step_order, after, n),
  lateral (
    select string_agg(text, '' order by start_offset) as text, min(start_offset) as start, max(start_offset + bytes) as "end"
    from (
      select text, bytes, start_offset, sum(bytes) over (order by start_offset) - bytes as before
      from (
        select text, bytes, start_offset from step_log_chunks
        where target_id = wanted.target_id and step_order = wanted.step_order and start_offset >= wanted.after
        order by start_offset limit 500) as next
    ) as measured
    where before < ${PAGE_BYTES}
  ) as page
  where page.text is not null`

/** Streams that stand at the same place, as those that follow live do, share what is read. */
export function createLogPages(db: Database): ReadLogPage {
  const read = shareLoads(async (places) => {
    const numbers = places.map((place) => place.split(' '))
    const columns = [0, 1, 2].map((column) => numbers.map((one) => one[column]!))
    const { rows } = await db.executeQuery<LogPage & { n: number }>(CompiledQuery.raw(PAGES, columns))
    return new Map(rows.map(({ n, ...page }) => [places[n - 1]!, page]))
  })
  return (targetId, stepOrder, offset) => read(`${targetId} ${stepOrder} ${offset}`)
}
