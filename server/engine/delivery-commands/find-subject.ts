import { sql } from 'kysely'
import type { ContextDeps, Subject } from '#engine/outgoing/build-context.ts'

/** The newest event of the action, or of the newest action that matches the hook. */
export async function findSubject(
  { db }: Pick<ContextDeps, 'db'>,
  hookId: string,
  actionId: number | undefined,
): Promise<Subject | undefined> {
  const { rows } = await sql<{ id: number }>`
    select a.id from hooks h
    join pipelines own on own.id = h.pipeline_id
    join pipelines p on p.id = own.id or h.trigger_when ->> 'scope' = 'resource'
      and (p.application_id = own.application_id or p.server_id = own.server_id)
    join actions a on a.pipeline_id = p.id and a.type = h.action_type
    where h.id = ${hookId} and (${actionId ?? null}::bigint is null or a.id = ${actionId ?? null}::bigint)
    order by a.id desc limit 1`.execute(db)
  const id = rows[0]?.id
  if (id === undefined) return undefined
  const [action, event, tree] = await Promise.all([
    db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    db.selectFrom('events').selectAll().where('action_id', '=', id).orderBy('id', 'desc').executeTakeFirst(),
    db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow(),
  ])
  return {
    action,
    event: event ?? { ...action, previous_status: null, occurred_at: action.updated_at },
    treeVersion: tree.version,
  }
}
