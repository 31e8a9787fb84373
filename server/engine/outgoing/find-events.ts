import { type RawBuilder, sql } from 'kysely'
import { eventKinds, namedKind } from '#model/events/event-kinds.ts'
import type { Status } from '#platform/database/tables.ts'
import { STATUSES } from '#platform/vocabulary.ts'

const EVERY_STATUS = Object.keys(STATUSES) as Status[]

/** Pure: the moves that a hook is told of, as pairs; '' stands for the nothing before a creation. */
export function movesToldTo(listened: readonly string[]): { previous: string; status: Status }[] {
  return [null, ...EVERY_STATUS].flatMap((previous) =>
    EVERY_STATUS.filter((status) => namedKind(eventKinds(previous, status), listened)).map((status) => ({
      previous: previous ?? '',
      status,
    })),
  )
}

/** The events of a time that a hook listens to, whether it was told of them or not. */
export function eventsFor(
  hook: { id: string; events: readonly string[] },
  time: { from: string; to: string },
): RawBuilder<unknown> {
  const moves = movesToldTo(hook.events)
  return sql`
    select e.id, e.action_id, e.occurred_at, e.status in ('completed', 'failed', 'skipped') as is_final
    from hooks h
    join pipelines own on own.id = h.pipeline_id
    join events e on e.occurred_at >= ${time.from}::timestamptz and e.occurred_at < ${time.to}::timestamptz
    join actions a on a.id = e.action_id and a.type = h.action_type
    join pipelines p on p.id = a.pipeline_id
    where h.id = ${hook.id} and (p.id = own.id or h.trigger_when ->> 'scope' = 'resource'
        and (p.application_id = own.application_id or p.server_id = own.server_id))
      and (coalesce(e.previous_status, ''), e.status) in (
        select * from unnest(${moves.map((move) => move.previous)}::text[], ${moves.map((move) => move.status)}::text[]))`
}
