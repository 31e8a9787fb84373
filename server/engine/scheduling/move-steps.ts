// The steps of a target that continues. Needs no lock on the environment: nothing but steps changes, and only the
// attempt that owns the target writes them.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { StoredStep } from '#platform/database/tables.ts'
import type { JobContext } from '#platform/queue/handler.ts'
import { noteSteps } from './committed-moves.ts'
import { type DetachedStep, moveInside, type Tracked } from './detached-steps.ts'
import { stepMoves } from './states.ts'

type Change = (steps: readonly StoredStep[], at: string) => StoredStep[]
type MovedSteps = {
  steps: StoredStep[]
  moves: ReturnType<typeof stepMoves>
  isCancelled: boolean
  detached: DetachedStep | null
}

/** Which step may run detached now: null is none, undefined that none did before either. */
export type NextDetached = Tracked | null | undefined

/** The target belongs to another attempt; this one must no longer write. */
export class JobReassignedError extends Error {
  override name = 'JobReassignedError'
  constructor(what: string) {
    super(`Another attempt owns the target: cannot ${what}.`)
  }
}

export type OwnSteps = ReturnType<typeof ownSteps>

/** The steps of a target, moved by the attempt that owns it; `known`: as they are stored. */
export function ownSteps(
  job: Pick<JobContext, 'held'>,
  owner: { targetId: number; attempt: number },
  known: readonly StoredStep[],
) {
  return {
    /** In one statement, which is its own transaction. Null, with nothing written, when they are stored differently. */
    async moveAlone(db: Database, change: Change, next?: NextDetached): Promise<MovedSteps | null> {
      const moved = await moveKnown(db, job, owner, known, change, next)
      known = moved?.steps ?? known
      return moved
    },
    /** Throws JobReassignedError when another attempt owns the target. */
    async move(trx: Transaction, change: Change, next?: NextDetached): Promise<MovedSteps> {
      const moved =
        (await moveKnown(trx, job, owner, known, change, next)) ??
        (await moveKnown(trx, job, owner, await readSteps(trx, owner.targetId), change, next))
      if (!moved) throw new JobReassignedError('move its steps')
      known = moved.steps
      noteSteps(trx, moved.moves)
      return moved
    },
  }
}

/** Under a lock on the target. */
export async function readSteps(trx: Transaction, targetId: number): Promise<StoredStep[]> {
  const { steps } = await trx
    .selectFrom('targets')
    .select('steps')
    .where('id', '=', targetId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
  return steps
}

/** Stands for the time until the database knows it. No text of a user contains it. */
const AT = randomUUID()

/**
 * One statement, which holds the job. Null, with nothing written, when the steps are stored differently (a first result
 * was lost) or another attempt owns the target.
 */
async function moveKnown(
  db: Database,
  job: Pick<JobContext, 'held'>,
  { targetId, attempt }: { targetId: number; attempt: number },
  known: readonly StoredStep[],
  change: Change,
  next: NextDetached,
): Promise<MovedSteps | null> {
  const detaching = next === undefined ? null : moveInside({ targetId, attempt }, next, sql`owned`)
  const changed = change(known, AT)
  const after = JSON.stringify(changed)
  const moves = stepMoves(known, changed)
  const { rows } = await sql<{ at: string; isCancelled: boolean; isStarted: boolean }>`
    with held as materialized (${job.held}),
    owned as materialized (
      select t.action_id, a.cancelled_at is not null as "isCancelled", clock_timestamp()::timestamptz(3) as at
      from held, targets t join actions a on a.id = t.action_id
      where t.id = ${targetId} and t.attempt = ${attempt} and t.status = 'in-progress'
        and t.steps = ${JSON.stringify(known)}::jsonb
      for no key update of t
    ), updated as (
      update targets set updated_at = owned.at, steps = replace(${after}, ${AT},
        to_char(owned.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::jsonb
      from owned where targets.id = ${targetId}
    ), moved as (
      insert into target_moves (target_id, step_order, previous_status, status, status_reason_code, occurred_at)
      select ${targetId}, "order", previous, status, reason, owned.at
      from owned, json_to_recordset(${JSON.stringify(moves)}::json)
        as move ("order" int, previous text, status text, reason text)
      order by "order"
    )${detaching ? sql`, ${detaching.parts}` : sql``}
    select at, "isCancelled", ${detaching?.isStarted ?? sql`false`} as "isStarted",
      pg_notify(${ACTIONS_CHANNEL}, 'move ' || action_id)
    from owned`.execute(db)
  const [row] = rows
  if (!row) return null
  const { at, isCancelled, isStarted } = row
  const steps = JSON.parse(after.replaceAll(AT, at))
  return { steps, moves, isCancelled, detached: isStarted ? detaching!.started : null }
}
