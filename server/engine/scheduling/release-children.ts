import { sql } from 'kysely'
import { isEnd, SKIPPED, type State } from '#model/actions/status.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { ScheduledAction } from './scheduled-action.ts'
import type { SchedulingPass } from './scheduling-pass.ts'

/**
 * The children of what has ended: queued, with the commit of their parent, when it has completed; otherwise
 * skipped, with their own children. Returns those that are queued now.
 */
export async function releaseChildren(pass: SchedulingPass): Promise<ScheduledAction[]> {
  const ended = new Map(pass.loaded().flatMap((one) => (isEnd(one.status) ? [[one.id, one.status]] : [])))
  if (ended.size === 0) return []
  await pass.flush()
  const { rows } = await sql<{ id: number }>`
    select id from actions where parent_id = ${anyId([...ended.keys()])} and status = 'pending'`.execute(
    pass.trx,
  )
  const children = await pass.load(rows.map((row) => row.id))
  const released = children.filter((child) => ended.get(child.parentId!) === 'completed')
  await inheritCommit(pass.trx, released)
  for (const child of released) pass.moveAction(child, { status: 'queued', reason: 'QUEUED' })
  const skipped = children.filter((child) => !released.includes(child))
  await skipActions(pass, skipped)
  return skipped.length > 0 ? [...released, ...(await releaseChildren(pass))] : released
}

/** A child that deploys the same source deploys the very commit of its parent. */
async function inheritCommit(trx: Transaction, children: ScheduledAction[]): Promise<void> {
  const ids = children.filter((child) => child.type === 'deploy').map((child) => child.id)
  if (ids.length === 0) return
  await sql`
    update actions child set commit = parent.commit, deployment = child.deployment ||
      jsonb_build_object('source_type', 'commit', 'source_ref', parent.commit ->> 'hash')
    from actions parent
    where child.id = any(${ids}::bigint[]) and parent.id = child.parent_id and parent.commit is not null
      and parent.deployment ->> 'repository' = child.deployment ->> 'repository'`.execute(trx)
}

/** Ends actions that have not started, without a run. */
export async function skipActions(
  pass: SchedulingPass,
  actions: readonly ScheduledAction[],
  end: State = SKIPPED,
): Promise<void> {
  const targets = actions.flatMap((action) => action.targets)
  await pass.endIdle(targets, end)
  for (const action of actions) pass.moveAction(action, end)
}
