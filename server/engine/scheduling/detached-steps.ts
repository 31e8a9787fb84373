// Which steps run on their server by themselves, under which token, and which attempt owns them. A row is written in the
// transaction that starts the step, before anything can run: without a state path nothing was started under its token. With
// one, the server knows. A step without a row runs attached.
import { type RawBuilder, sql } from 'kysely'
import { newStepToken } from '#adapters/executors/detached.ts'
import { ALL_REATTACH } from '#model/workers/live-workers.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'

export type DetachedStep = {
  token: string
  order: number
  runAsUser: string | null
  /** Where its output begins in the log of the step. */
  logFrom: number
  /** Where the server keeps its state; null: it was not started under this token. */
  statePath: string | null
  /** Stored already, for a start that has nothing in its log before it. */
  announcedPath?: string | null
  /** Since the server last renewed its lease, in milliseconds; 0 if unknown. */
  silentMs: number
}

const COLUMNS = sql`token, step_order as "order", run_as_user as "runAsUser", log_from as "logFrom",
  state_path as "statePath", coalesce(extract(epoch from now() - acknowledged_at) * 1000, 0)::float8 as "silentMs"`

type Owner = { targetId: number; attempt: number }

/**
 * For a new attempt: the step that the one before left, which belongs to this one now. If an older release owned the target in
 * between, what was started then is not known: it is treated as attached. An attempt that was lost may have followed the step
 * until now.
 */
export async function takeDetached(
  trx: Transaction,
  { targetId, attempt }: Owner,
): Promise<DetachedStep | null> {
  const { rows } = await sql<DetachedStep>`
    update detached_steps set attempt = ${attempt}, acknowledged_at = coalesce(acknowledged_at, now())
    where target_id = ${targetId} and ended_at is null and attempt in (${attempt - 1}, ${attempt})
    returning ${COLUMNS}`.execute(trx)
  await sql`
    update detached_steps set ended_at = now()
    where target_id = ${targetId} and ended_at is null and attempt <> ${attempt}`.execute(trx)
  return rows[0] ?? null
}

export type Tracked = {
  order: number
  serverId: number
  runAsUser: string | null
  /** Known once the server is connected: then nothing has to be stored between this transaction and the start. */
  statePathOf?: (token: string) => string
}

/**
 * The step that ran is over, and `next` starts, if it may run detached. In the transaction that says so. Null for `next` when
 * a worker is online that could not continue it.
 */
export async function moveDetached(
  trx: Transaction,
  { targetId, attempt }: Owner,
  next: Tracked | null,
): Promise<DetachedStep | null> {
  const move = moveInside({ targetId, attempt }, next, sql`(select) as owned`)
  const { rows } = await sql<{ isStarted: boolean }>`
    with ${move.parts} select ${move.isStarted} as "isStarted"`.execute(trx)
  return rows[0]!.isStarted ? move.started : null
}

/**
 * What `moveDetached` does, as parts of another statement: once for each row of `owned`, of which there is one, or none when the
 * attempt was lost. `started` holds if `isStarted` does.
 */
export function moveInside(
  { targetId, attempt }: Owner,
  next: Tracked | null,
  owned: RawBuilder<unknown>,
): { parts: RawBuilder<unknown>; isStarted: RawBuilder<boolean>; started: DetachedStep | null } {
  const token = next && newStepToken()
  const announcedPath = (token && next?.statePathOf?.(token)) ?? null
  const parts = sql`
    ended as (
      update detached_steps set ended_at = now() from ${owned} where target_id = ${targetId} and ended_at is null
      returning 1
    ), started as (
      insert into detached_steps (token, target_id, step_order, server_id, attempt, run_as_user, state_path)
      select ${token}::text, ${targetId}, ${next?.order ?? null}::integer, ${next?.serverId ?? null}::bigint, ${attempt},
        ${next?.runAsUser ?? null}, ${announcedPath}
      from ${owned}
      where ${token}::text is not null and (select count(*) from ended) >= 0 and ${ALL_REATTACH}
      returning 1
    )`
  const isStarted = sql<boolean>`exists (select from started)`
  if (!next || !token) return { parts, isStarted, started: null }
  const { order, runAsUser } = next
  const started = { token, order, runAsUser, logFrom: 0, statePath: null, announcedPath, silentMs: 0 }
  return { parts, isStarted, started }
}

/**
 * From now on it may run under this token, with its state at this path: the server can do it. `reassigned`: another attempt owns it.
 * `older-workers`: a worker is online that could not continue it.
 */
export async function launchDetached(
  db: Database,
  {
    token,
    attempt,
    statePath,
    logFrom,
  }: { token: string; attempt: number; statePath: string; logFrom: number },
): Promise<'launched' | 'older-workers' | 'reassigned'> {
  const { rows } = await sql<{ allReattach: boolean }>`
    with owned as materialized (
      select token, ${ALL_REATTACH} as "allReattach" from detached_steps
      where token = ${token} and attempt = ${attempt} and ended_at is null for update
    ), launched as (
      update detached_steps set state_path = ${statePath}, log_from = ${logFrom}, acknowledged_at = null
      where token in (select token from owned where "allReattach")
      returning server_id
    ), detaching as (
      delete from attached_servers where server_id in (select server_id from launched)
    )
    select "allReattach" from owned`.execute(db)
  const [owned] = rows
  if (!owned) return 'reassigned'
  return owned.allReattach ? 'launched' : 'older-workers'
}

/** It is going to run attached. False: another attempt owns it. A repetition changes nothing. */
export async function attachStep(
  db: Database,
  token: string,
  { targetId, attempt }: Owner,
): Promise<boolean> {
  const { rows } = await sql<{ isOwned: boolean }>`
    with removed as (
      delete from detached_steps where token = ${token} and attempt = ${attempt}
    )
    select exists (select from targets where id = ${targetId} and attempt = ${attempt}) as "isOwned"`.execute(
    db,
  )
  return rows[0]!.isOwned
}

/** The token is void; the step gets a new one. Null: another attempt owns it. */
export async function renewToken(db: Database, token: string, attempt: number): Promise<string | null> {
  const { rows } = await sql<{ token: string }>`
    with void as (
      update detached_steps set ended_at = now() where token = ${token} and attempt = ${attempt} and ended_at is null
      returning *
    )
    insert into detached_steps (token, target_id, step_order, server_id, attempt, run_as_user)
    select ${newStepToken()}, target_id, step_order, server_id, attempt, run_as_user from void
    returning token`.execute(db)
  return rows[0]?.token ?? null
}

/** The attempt that followed it follows it no longer. `silentMs`: since the server last renewed its lease. */
export async function noteSilence(
  db: Database,
  token: string,
  attempt: number,
  silentMs: number,
): Promise<void> {
  await sql`update detached_steps set acknowledged_at = now() - ${silentMs} * interval '1 millisecond'
    where token = ${token} and attempt = ${attempt}`.execute(db)
}

/** From now on its lease is renewed again. */
export async function noteContact(db: Database, token: string, attempt: number): Promise<void> {
  await sql`update detached_steps set acknowledged_at = null
    where token = ${token} and attempt = ${attempt}`.execute(db)
}

/** The server no longer keeps anything of it. */
export async function forgetDetached(db: Database, tokens: readonly string[]): Promise<void> {
  if (tokens.length === 0) return
  await db
    .deleteFrom('detached_steps')
    .where('token', 'in', tokens)
    .where('ended_at', 'is not', null)
    .execute()
}

/** The attempt that continued a detached step has failed in our own code: the next one that does so counts. */
export async function countAttempt(trx: Transaction, targetId: number): Promise<void> {
  await sql`update targets set reattached = reattached - 1 where id = ${targetId}`.execute(trx)
}
