import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'
import { readLargePage } from '#platform/http/read-large-page.ts'
import * as t from '#platform/http/schemas.ts'

export const catchUpSchema = t.namedObject('CatchUp', {
  id: t.idOf('catch-up'),
  missed_from: t.Time('When the first of its calls was missed.'),
  missed_until: t.Time('When the last of its calls was missed.'),
  created_at: t.Time('When Gantry found that they are missing.'),
  caught_up: t.Count('Calls that the host delivered again, or that Gantry made by itself.'),
  superseded: t.Count(
    'Pushes that a newer one of the same branch or tag replaces: they are not delivered again.',
  ),
  waiting: t.Count('Calls that are about to be delivered again.'),
  lost: t.Count('Calls that the host no longer has, or did not deliver in five attempts.'),
})
export type CatchUp = t.Static<typeof catchUpSchema>

export const missedCallSchema = t.namedObject('MissedCall', {
  id: t.idOf('missed call'),
  catch_up_id: t.idOf('catch-up'),
  delivery_id: t.Text('The id that the host, or Gantry, gave the call.'),
  event: t.TextOrNull('As the host names it, such as `push`.'),
  ref: t.TextOrNull(
    'The branch or tag that was pushed, such as `refs/heads/main`; null for other events, and until its payload is read.',
  ),
  commit: t.TextOrNull('The commit that was pushed; null like `ref`.'),
  missed_at: t.Time(
    'When the host tried to deliver it; of a call that Gantry made, when the branch was first seen at another commit.',
  ),
  state: t.Word(
    ['waiting', 'superseded', 'redelivered', 'received', 'found', 'lost'],
    '`waiting`: it is delivered again soon. `redelivered`: the host was asked to. `received`: the call came. `found`: the host did not call, and Gantry made the call by itself. `superseded`: a newer push replaces it. `lost`: the host no longer has it, or did not deliver it in five attempts.',
  ),
  redelivered_at: t.TimeOrNull('When the host was last asked to deliver it again; null if it was not.'),
  hook_request_id: t.described(t.UuidOrNull, 'The id of the record of the call; null until it came.'),
  action_id: t.idOrNullOf('action that the call started', 'null without one'),
})
export type MissedCall = t.Static<typeof missedCallSchema>

const countOf = (...states: MissedCall['state'][]) =>
  sql<number>`(count(*) filter (where state = any(${states}::text[])))::int`

/** Newest first. */
export async function listCatchUps(
  db: Database,
  hookId: string,
  page: Page,
): Promise<{ items: CatchUp[]; extent: Extent }> {
  const { rows, extent } = await readLargePage(
    db,
    db.selectFrom('catch_ups').select(['id', 'created_at']).where('hook_id', '=', hookId),
    page,
  )
  const counted = await db
    .selectFrom('missed_calls')
    .select(({ fn }) => [
      'catch_up_id',
      fn.min('missed_at').as('missed_from'),
      fn.max('missed_at').as('missed_until'),
      countOf('received', 'found').as('caught_up'),
      countOf('superseded').as('superseded'),
      countOf('waiting', 'redelivered').as('waiting'),
      countOf('lost').as('lost'),
    ])
    .where('catch_up_id', 'in', [0, ...rows.map(({ id }) => id)])
    .groupBy('catch_up_id')
    .execute()
  const byId = new Map(counted.map(({ catch_up_id, ...counts }) => [catch_up_id, counts]))
  const items = rows.flatMap((row) => {
    const counts = byId.get(row.id)
    return counts ? [{ ...row, ...counts }] : []
  })
  return { items, extent }
}

/** Newest first. */
export async function listMissedCalls(
  db: Database,
  hookId: string,
  catchUpId: number | undefined,
  page: Page,
): Promise<{ items: MissedCall[]; extent: Extent }> {
  const query = db
    .selectFrom('missed_calls')
    .select([
      'id',
      'catch_up_id',
      'delivery_id',
      'event',
      'ref',
      'commit',
      'missed_at',
      'state',
      'redelivered_at',
      'request_id as hook_request_id',
      sql<number | null>`(select r.action_id from hook_requests r where r.id = request_id)`.as('action_id'),
    ])
    .where('hook_id', '=', hookId)
    .$if(catchUpId !== undefined, (calls) => calls.where('catch_up_id', '=', catchUpId!))
  const { rows, extent } = await readLargePage(db, query, page)
  return { items: rows, extent }
}
