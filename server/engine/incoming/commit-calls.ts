import { sql, type Transaction } from 'kysely'
import { startChildren } from '#engine/scheduling/start-children.ts'
import { supersedeOlder } from '#engine/scheduling/supersede.ts'
import { acquireSlots, lockPipelines } from '#model/pipelines/queue-policy.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { type CallToStore, CLAIM_LIFE, type StoredCall } from './call-to-store.ts'
import { type Inserted, insertCalls } from './insert-calls.ts'

/**
 * Stores calls that came together, with all that they start; results in the order of the calls. Throws when
 * nothing was stored. All calls must have been judged at the same version.
 *
 * Usually one statement is enough, and is its own transaction. Calls whose pipelines may refuse or replace runs,
 * or have followers, take several.
 */
export function commitCalls(db: Database, calls: readonly CallToStore[]): Promise<StoredCall[]> {
  const copies = separateCopies(calls)
  const isPlain = copies.followers.length === 0 && calls.every((call) => !call.start || isUnbounded(call))
  return isPlain
    ? commitAtOnce(db, calls, copies.leaders)
    : db.transaction().execute((trx) => commitCarefully(trx, calls, copies))
}

function isUnbounded({ hook: { plan, pipeline } }: CallToStore): boolean {
  return plan.kind === 'plan' && pipeline.queuePolicy === 'queue' && !pipeline.hasFollowers
}

async function commitAtOnce(
  db: Database,
  calls: readonly CallToStore[],
  leaders: number[],
): Promise<StoredCall[]> {
  const inserted = await insertCalls(db, calls, leaders)
  if (inserted.length < leaders.length) return calls.map(() => ({ kind: 'stale' }))
  const results: (StoredCall | undefined)[] = calls.map(() => undefined)
  const known = takeResults(inserted, results)
  // The others are committed by now: trouble with these must not make anybody store those again.
  if (known.length > 0)
    await db
      .transaction()
      .execute((trx) => storeDuplicates(trx, calls, known, results))
      .catch(() => {
        for (const { n } of known) results[n] = { kind: 'stale' }
      })
  return results as StoredCall[]
}

async function commitCarefully(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  { leaders, followers }: { leaders: number[]; followers: Copy[] },
): Promise<StoredCall[]> {
  const results: (StoredCall | undefined)[] = calls.map(() => undefined)
  const settled = await settleRefusable(trx, calls, leaders)
  const stale = calls.map(() => ({ kind: 'stale' as const }))
  if (settled.size > 0 && (await isOutdated(trx, calls))) return stale
  for (const [n, result] of settled) results[n] = result

  const starting = leaders.filter((n) => !settled.has(n))
  const inserted = await insertCalls(trx, calls, starting)
  if (inserted.length < starting.length) return stale
  const copies: Copy[] = [...settled].flatMap(([n, { kind }]) =>
    kind === 'duplicate' ? [{ n, leader: n }] : [],
  )
  for (const follower of followers) {
    if (results[follower.leader]?.kind === 'refused') results[follower.n] = { kind: 'refused' }
    else copies.push(follower)
  }
  copies.push(...takeResults(inserted, results))
  await storeDuplicates(trx, calls, copies, results)
  await follow(trx, calls, results)
  await supersede(trx, calls, results)
  return results as StoredCall[]
}

/** Fills in what became of inserted calls; returns those that turned out to be copies of earlier ones. */
function takeResults(inserted: readonly Inserted[], results: (StoredCall | undefined)[]): Copy[] {
  return inserted.flatMap(({ n, action_id, fresh }) => {
    if (action_id !== null && !fresh) return [{ n, leader: n }]
    results[n] = action_id === null ? { kind: 'recorded' } : { kind: 'started', actionId: action_id }
    return []
  })
}

/** A call, by its number, that has the delivery of another one; or of one before it all (`leader` is itself). */
type Copy = { n: number; leader: number }

/** Of several copies of one delivery in one batch the first leads; the others share its fate. */
function separateCopies(calls: readonly CallToStore[]) {
  const leaderOf = new Map<string, number>()
  const leaders: number[] = []
  const followers: Copy[] = []
  calls.forEach((call, n) => {
    const key = call.start?.key && `${call.hook.id} ${call.start.key.toString('hex')}`
    const leader = key ? leaderOf.get(key) : undefined
    if (leader !== undefined) {
      followers.push({ n, leader })
      return
    }
    if (key) leaderOf.set(key, n)
    leaders.push(n)
  })
  return { leaders, followers }
}

/** Copies of a delivery that is known: each leaves a record that points to the first one's action. */
async function storeDuplicates(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  copies: readonly Copy[],
  results: (StoredCall | undefined)[],
): Promise<void> {
  for (const { n, leader } of copies.toSorted((one, other) => one.leader - other.leader)) {
    const { hook, record, start } = calls[n]!
    const known = results[leader]
    const actionId =
      known && 'actionId' in known ? known.actionId : await claimedAction(trx, hook.id, start!.key!)
    results[n] = { kind: 'duplicate', actionId }
    await trx
      .insertInto('hook_requests')
      .values({
        id: record.id,
        hook_id: hook.id,
        type: 'incoming',
        action_id: actionId,
        retry_of: record.retry_of,
        ip_address: record.ip_address,
        url: record.url,
        method: 'POST',
        outcome: 'duplicate',
        response_status_code: 200,
        request_headers: record.headers && JSON.stringify(record.headers),
        content_type: record.content_type,
        request_body: record.body,
        duration_ms: record.duration_ms,
      })
      .execute()
  }
}

async function claimedAction(trx: Transaction<Tables>, hookId: string, key: Buffer): Promise<number> {
  const claim = await trx
    .selectFrom('delivery_claims')
    .select('action_id')
    .where('hook_id', '=', hookId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow()
  return claim.action_id
}

/**
 * The calls whose pipeline cannot run or may be full, when they start nothing: a known delivery is a
 * duplicate all the same, and takes no room. Most pipelines take any number of runs, and ask nothing.
 */
async function settleRefusable(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  leaders: readonly number[],
): Promise<Map<number, Extract<StoredCall, { kind: 'duplicate' | 'refused' }>>> {
  const settled = new Map<number, Extract<StoredCall, { kind: 'duplicate' | 'refused' }>>()
  const pipelineOf = (n: number) => calls[n]!.hook.pipeline
  const isImpossible = (n: number) => calls[n]!.hook.plan.kind === 'impossible'
  const refusable = leaders.filter(
    (n) => calls[n]!.start && (isImpossible(n) || pipelineOf(n).queuePolicy !== 'queue'),
  )
  if (refusable.length === 0) return settled
  const limited = refusable.filter((n) => !isImpossible(n))
  await lockPipelines(trx, limited.map(pipelineOf))
  for (const { n, action_id } of await findClaims(trx, calls, refusable))
    settled.set(n, { kind: 'duplicate', actionId: action_id })
  const starting = limited.filter((n) => !settled.has(n))
  const taken = await acquireSlots(trx, starting.map(pipelineOf))
  const refused = [...starting.filter((_, index) => !taken[index]), ...refusable.filter(isImpossible)]
  for (const n of refused) if (!settled.has(n)) settled.set(n, { kind: 'refused' })
  return settled
}

async function findClaims(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  wanted: readonly number[],
): Promise<{ n: number; action_id: number }[]> {
  const deliveries = wanted.flatMap((n) => {
    const { hook, start } = calls[n]!
    return start?.key ? [{ n, hook_id: hook.id, key: start.key.toString('hex') }] : []
  })
  if (deliveries.length === 0) return []
  const { rows } = await sql<{ n: number; action_id: number }>`
    select n, action_id from json_to_recordset(${JSON.stringify(deliveries)}::json) as c (n int, hook_id uuid, key text)
    join delivery_claims claim on claim.hook_id = c.hook_id and claim.key = decode(c.key, 'hex')
    where claimed_at >= now() - ${sql.raw(CLAIM_LIFE)}`.execute(trx)
  return rows
}

/** Inserting looks at the version itself; what is settled without it must be today's decision too. */
async function isOutdated(trx: Transaction<Tables>, calls: readonly CallToStore[]): Promise<boolean> {
  const { version } = await trx.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
  return version !== calls[0]!.version
}

/** The pipelines of calls that have started a run, as far as `concerns` says. */
function startedRuns(
  calls: readonly CallToStore[],
  results: readonly (StoredCall | undefined)[],
  concerns: (pipeline: CallToStore['hook']['pipeline']) => boolean,
) {
  return calls.flatMap(({ hook: { pipeline } }, n) => {
    const result = results[n]
    return result?.kind === 'started' && concerns(pipeline) ? [{ pipeline, actionId: result.actionId }] : []
  })
}

async function follow(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  results: (StoredCall | undefined)[],
): Promise<void> {
  const parents = startedRuns(calls, results, (pipeline) => pipeline.hasFollowers)
  if (parents.length > 0)
    await startChildren(
      trx,
      parents.map(({ actionId }) => actionId),
    )
}

async function supersede(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  results: (StoredCall | undefined)[],
): Promise<void> {
  const latest = startedRuns(calls, results, (pipeline) => pipeline.queuePolicy === 'latest')
  const pipelines = new Map(latest.map(({ pipeline }) => [pipeline.id, pipeline]))
  if (pipelines.size > 0) await supersedeOlder(trx, [...pipelines.values()])
}
