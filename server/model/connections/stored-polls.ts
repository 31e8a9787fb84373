import { sql } from 'kysely'
import type { Database, Transaction } from '#platform/database/connect.ts'
import * as t from '#platform/http/schemas.ts'

export const pollStatusSchema = t.namedObject('HookPollStatus', {
  polled_at: t.TimeOrNull('When the repository was last asked; null before the first time.'),
  problem: t.TextOrNull('Why the last poll failed; null if it did not.'),
  branches: t.List(
    t.Exactly({
      name: t.Text('The name of the branch.'),
      commit: t.Text('The commit that it was at when it was last seen.'),
      moved_at: t.TimeOrNull('When it last started a call; null: not yet.'),
    }),
    'The branches that were seen so far.',
  ),
})
export type HookPollStatus = t.Static<typeof pollStatusSchema>

/** A hook is polled as soon as it is saved with `settings.poll`, and no longer once it is saved without. */
export async function storePoll(trx: Transaction, hookId: string, isPolled: boolean): Promise<void> {
  await (isPolled
    ? sql`insert into hook_polls (hook_id) values (${hookId})
        on conflict (hook_id) do update set due_at = now(), failures = 0`
    : sql`delete from hook_polls where hook_id = ${hookId}`
  ).execute(trx)
}

export async function loadPolls(
  db: Database,
  hookIds: readonly string[],
): Promise<Map<string, HookPollStatus>> {
  if (hookIds.length === 0) return new Map()
  const { rows } = await sql<HookPollStatus & { hook_id: string }>`
    select p.hook_id, p.polled_at, p.problem, coalesce((
      select json_agg(json_build_object('name', r.branch, 'commit', r.tip,
        'moved_at', to_char(r.moved_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by r.branch)
      from polled_refs r where r.hook_id = p.hook_id and r.tip !~ '^0+$'), '[]') as branches
    from hook_polls p where p.hook_id = any(${hookIds}::uuid[])`.execute(db)
  return new Map(rows.map(({ hook_id, ...status }) => [hook_id, status]))
}
