// Counts that a job keeps up to date, so that lists of a million actions and the overview need not count.
import { type RawBuilder, sql } from 'kysely'
import type { ActionFilters } from '#model/actions/filters.ts'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { earlierTransactionsEnd } from '#platform/database/earlier-transactions.ts'

// Actions are counted once, in blocks of 5,000 ids. A block in which no id can appear any more is closed; from then on
// its count only goes down, by `uncountActions`. Actions that are not counted yet are the head.
export const BLOCK = 5_000

/** For transactions to end; after that the block is left to the next run. */
const WAIT_MS = 10_000

/**
 * Counts the blocks that have closed since the last run; called by a job. A block is closed when a later action is
 * visible and every transaction that was running then has ended: no other can have taken an id of the block. Later
 * actions are five minutes old at least, so that there is rarely a transaction to wait for.
 */
export async function countClosedBlocks(
  db: Database,
  options: { graceMinutes?: number } = {},
): Promise<void> {
  const { rows } = await sql<{ end: number | null }>`
    select max(later.id / ${BLOCK}::bigint) as end from counted_action_blocks,
      lateral generate_series(next_block + 1, (select max(id) from actions) / ${BLOCK}::bigint) as block,
      lateral (select id, created_at from actions where id >= block * ${BLOCK}::bigint order by id limit 1) as later
    where later.created_at < now() - ${options.graceMinutes ?? 5}::int * interval '1 minute'`.execute(db)
  const { end } = rows[0]!
  if (end === null) return
  if (!(await earlierTransactionsEnd(db, { withinMs: WAIT_MS }))) return
  await db.transaction().execute(async (trx) => {
    const { next_block } = await trx
      .selectFrom('counted_action_blocks')
      .select('next_block')
      .forUpdate()
      .executeTakeFirstOrThrow()
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
 * Takes actions that this transaction removes out of the counts of their blocks. The times of a block stay: they are
 * bounds. The lock keeps a block from being counted meanwhile, with actions that are on their way out.
 */
export async function uncountActions(trx: Transaction, ids: readonly number[]): Promise<void> {
  await sql`select next_block from counted_action_blocks for share`.execute(trx)
  const removed = sql`(select id / ${BLOCK}::bigint as block, environment_id, count(*) as actions from actions
    where id = any(${ids}::bigint[]) group by 1, 2) as removed`
  await sql`
    delete from action_blocks b using ${removed}
    where b.block = removed.block and b.environment_id = removed.environment_id and b.actions <= removed.actions`.execute(
    trx,
  )
  await sql`
    update action_blocks b set actions = b.actions - removed.actions from ${removed}
    where b.block = removed.block and b.environment_id = removed.environment_id`.execute(trx)
}

/**
 * The id of the action at an offset in the list, 0 past its end; undefined when the offset is within the head.
 * Adds up blocks from the newest on, then searches one.
 */
export async function jumpToOffset(
  db: Database,
  environmentIds: readonly number[],
  offset: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ head: number; id: number | null }>`
    with head as (select count(*) as actions from ${partitions(environmentIds)}, lateral ${inHead()} as found),
    running as (
      select block, sum(sum(actions)) over (order by block desc) as through,
        sum(sum(actions)) over (order by block desc) - sum(actions) as before
      from action_blocks join ${partitions(environmentIds)} using (environment_id) group by block
    )
    select head.actions as head, (
      select a.id from (
        select block, before from running
        where head.actions <= ${offset}::bigint and head.actions + through > ${offset}::bigint
        order by block desc limit 1
      ) as hit, lateral (
        select a.id from actions a where a.environment_id = any(${environmentIds}::bigint[])
          and a.id between hit.block * ${BLOCK} and hit.block * ${BLOCK} + ${BLOCK - 1}
        order by a.id desc offset ${offset}::bigint - head.actions - hit.before limit 1
      ) as a) as id
    from head`.execute(db)
  const { head, id } = rows[0]!
  return offset < head ? undefined : (id ?? 0)
}

const partitions = (environmentIds: readonly number[]) =>
  sql`unnest(${environmentIds}::bigint[]) as partition (environment_id)`

/** The actions of a partition that are not counted yet. */
function inHead(...where: RawBuilder<unknown>[]): RawBuilder<unknown> {
  const from = sql`(select next_block * ${BLOCK}::bigint from counted_action_blocks)`
  const ids = { from, upTo: ANY_ID.upTo }
  return newestInPartition(['environment_id'], { ids, where, limit: Number.MAX_SAFE_INTEGER })
}

/** Inclusive. */
type IdRange = { from: number; upTo: number }

/** `inside`: a part of the range in which every action is of the requested time. */
export type Bounds = IdRange & { inside?: IdRange }

/** The range of ids that contains every action of the requested time: blocks store their first and last time. */
export async function findBounds(
  db: Database,
  environmentIds: readonly number[],
  { created_after, created_before }: ActionFilters,
): Promise<Bounds> {
  if (created_after === undefined && created_before === undefined) return ANY_ID
  const after = sql`${created_after ?? null}::timestamptz`
  const before = sql`${created_before ?? null}::timestamptz`
  const { rows } = await sql<{
    from: number
    last: number | null
    head_matters: boolean
    inside_from: number
    inside_up_to: number
    head_is_inside: boolean
  }>`
    with head as (select next_block, next_block * ${BLOCK}::bigint as first_id from counted_action_blocks),
    blocks as (select * from action_blocks where environment_id = any(${environmentIds}::bigint[]))
    select
      coalesce((select min(block) from blocks where last_created_at >= ${after}) * ${BLOCK},
        case when ${after} is null then 0 else first_id end) as from,
      (select max(block) from blocks where first_created_at < ${before}) as last,
      ${before} is null or exists (
        select from ${partitions(environmentIds)},
          lateral ${inHead(sql`a.created_at < ${before}`)} as found) as head_matters,
      coalesce((select max(block) from blocks where first_created_at < ${after}) + 1, 0) * ${BLOCK} as inside_from,
      coalesce((select min(block) from blocks where last_created_at >= ${before}), next_block) * ${BLOCK} - 1 as inside_up_to,
      ${before} is null and not exists (
        select from ${partitions(environmentIds)},
          lateral ${inHead(sql`a.created_at < ${after}`)} as found) as head_is_inside
    from head`.execute(db)
  const { from, last, head_matters, inside_from, inside_up_to, head_is_inside } = rows[0]!
  const upTo = head_matters ? ANY_ID.upTo : last === null ? -1 : last * BLOCK + BLOCK - 1
  const inside = {
    from: Math.max(from, inside_from),
    upTo: head_is_inside ? upTo : Math.min(upTo, inside_up_to),
  }
  if (inside.from > inside.upTo) return { from, upTo }
  return narrow(db, { from, upTo, inside }, { after, before })
}

/** A longer range is not worth reading. */
const MAX_NARROWED = 2 * BLOCK

/**
 * Finds where exactly the requested time begins and ends in the blocks that it shares with another time: reading them once
 * is cheaper than reading them again for every partition of a list. Ids follow times except for a few.
 */
async function narrow(
  db: Database,
  { from, upTo, inside }: IdRange & { inside: IdRange },
  { after, before }: { after: RawBuilder<unknown>; before: RawBuilder<unknown> },
): Promise<Bounds> {
  const older = { from, upTo: inside.from - 1 }
  const newer = { from: inside.upTo + 1, upTo }
  const ids = ({ from: first, upTo: last }: IdRange) =>
    last - first < MAX_NARROWED ? sql`id >= ${first}::bigint and id <= ${last}::bigint` : sql`false`
  const { rows } = await sql<Record<'first' | 'last_before' | 'last' | 'first_after', number | null>>`
    select older.*, newer.* from (
      select min(id) filter (where created_at >= ${after}) as first, max(id) filter (where created_at < ${after}) as last_before
      from actions where ${ids(older)}) as older, (
      select max(id) filter (where created_at < ${before}) as last, min(id) filter (where created_at >= ${before}) as first_after
      from actions where ${ids(newer)}) as newer`.execute(db)
  const { first, last_before, last, first_after } = rows[0]!
  return {
    from: last_before === null ? from : Math.min(first ?? inside.from, inside.from),
    upTo: first_after === null ? upTo : Math.max(last ?? inside.upTo, inside.upTo),
    inside: {
      from: last_before === null ? inside.from : Math.min(last_before + 1, inside.from),
      upTo: first_after === null ? inside.upTo : Math.max(first_after - 1, inside.upTo),
    },
  }
}
