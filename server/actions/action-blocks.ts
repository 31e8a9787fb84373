import { sql } from 'kysely'
import type { Database } from '#database/connect.ts'
import type { ActionFilters } from './filters.ts'

// Actions are counted once and for all in blocks of 1,000 ids. Actions are never deleted, so a block in
// which no id can appear any more is closed, and its count holds. What is not counted yet is the head.
const BLOCK = 1_000

/**
 * Counts the blocks that have closed since the last time; run by a job. A block is closed when a later
 * action is five minutes old: a transaction that took an id of the block has long been ended by then
 * (transactions are limited to one minute, see connect.ts).
 */
export async function countClosedBlocks(
  db: Database,
  options: { settledMinutes?: number } = {},
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { next_block } = await trx
      .selectFrom('counted_action_blocks')
      .select('next_block')
      .forUpdate()
      .executeTakeFirstOrThrow()
    const { rows } = await sql<{ id: number | null }>`
      select max(id) as id from actions where id >= ${next_block * BLOCK}
        and created_at < now() - ${options.settledMinutes ?? 5}::int * interval '1 minute'`.execute(trx)
    const end = Math.floor((rows[0]?.id ?? 0) / BLOCK)
    if (end <= next_block) return
    await sql`
      insert into action_blocks (block, environment_id, actions, first_created_at, last_created_at)
      select id / ${BLOCK}::bigint, environment_id, count(*), min(created_at), max(created_at)
      from actions where id >= ${next_block * BLOCK} and id < ${end * BLOCK}
      group by 1, 2`.execute(trx)
    await trx.updateTable('counted_action_blocks').set({ next_block: end }).execute()
  })
}

/**
 * Where the list stands after `offset` actions: skip `offset` (now a small number) of those up to `upTo`.
 * Undefined when the offset lies within the head, or past the end of what is counted.
 */
export async function jumpToOffset(
  db: Database,
  environmentIds: readonly number[],
  offset: number,
): Promise<{ upTo: number; offset: number } | undefined> {
  const { rows } = await sql<{ block: number; before: number }>`
    with head as (
      select count(*) as actions from actions
      where environment_id = any(${environmentIds}::bigint[])
        and id >= (select next_block * ${BLOCK}::bigint from counted_action_blocks)
    ), blocks as (
      select block, sum(actions) as actions from action_blocks
      where environment_id = any(${environmentIds}::bigint[]) group by block
    ), running as (
      select block, head.actions + sum(blocks.actions) over (order by block desc) - blocks.actions as before
      from blocks, head
    )
    select block, before::bigint as before from running where before <= ${offset}::bigint order by block limit 1`.execute(
    db,
  )
  const found = rows[0]
  return found && { upTo: found.block * BLOCK + BLOCK - 1, offset: offset - found.before }
}

export type Bounds = { from: number; upTo: number }

/** The ids between which every action of the wanted time lies: blocks know their first and last moment. */
export async function findBounds(
  db: Database,
  environmentIds: readonly number[],
  { created_after, created_before }: ActionFilters,
): Promise<Bounds> {
  const everything = { from: 0, upTo: Number.MAX_SAFE_INTEGER }
  if (created_after === undefined && created_before === undefined) return everything
  const { rows } = await sql<{ from: number; last: number | null; head_matters: boolean }>`
    with head as (select next_block * ${BLOCK}::bigint as first_id from counted_action_blocks),
    blocks as (select * from action_blocks where environment_id = any(${environmentIds}::bigint[]))
    select
      coalesce((select min(block) from blocks where last_created_at >= ${created_after ?? null}::timestamptz) * ${BLOCK},
        case when ${created_after ?? null}::timestamptz is null then 0 else first_id end) as from,
      (select max(block) from blocks where first_created_at < ${created_before ?? null}::timestamptz) as last,
      ${created_before ?? null}::timestamptz is null or exists (
        select from actions a where a.id >= first_id and a.environment_id = any(${environmentIds}::bigint[])
          and a.created_at < ${created_before ?? null}::timestamptz) as head_matters
    from head`.execute(db)
  const { from, last, head_matters } = rows[0]!
  if (head_matters) return { from, upTo: everything.upTo }
  return { from, upTo: last === null ? -1 : last * BLOCK + BLOCK - 1 }
}
