import { sql } from 'kysely'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import { startChildren } from '#engine/scheduling/start-children.ts'
import { supersedeOlder } from '#engine/scheduling/superseded-runs.ts'
import { acquireSlots, lockPipelines } from '#model/pipelines/queue-policy.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { RELEASE_WHEN_SILENT } from '#platform/database/release-when-silent.ts'
import { type CallDatabases, SERVER_LIMIT } from './call-connections.ts'
import { type CallToStore, CLAIM_TTL, type Inserted, insertCalls } from './insert-calls.ts'

export type StoredCall =
  | { kind: 'started'; actionId: number }
  | { kind: 'duplicate'; actionId: number }
  | { kind: 'recorded' }
  /** The pipeline cannot run, or its queue policy allows no further run now. Nothing was stored. */
  | { kind: 'refused' }
  /** The tree has changed since the call was evaluated: evaluate it again. Nothing was stored. */
  | { kind: 'stale' }

type Calls = readonly CallToStore[]
type Results = (StoredCall | undefined)[]

/** A call, by its index, with the idempotency key of an earlier one: in this batch, or stored (`first` is itself). */
type Duplicate = { n: number; first: number }

const STALE = { kind: 'stale' } as const

/**
 * Stores a batch of calls with everything they start; results are in the order of the calls. Throws when nothing was
 * stored. All calls must have been evaluated at the same tree version.
 *
 * Usually one statement is enough, and is its own transaction. Calls whose pipelines may reject or supersede runs, or
 * start other pipelines, take several.
 */
export function commitCalls(
  databases: CallDatabases,
  calls: Calls,
  onMoves?: OnMoves,
): Promise<StoredCall[]> {
  const { firsts, duplicates } = separateDuplicates(calls)
  return duplicates.length === 0 && !calls.some(takesLocks)
    ? commitInOneStatement(databases, calls, firsts)
    : reportMoves(databases.db, onMoves, (trx) => commitInTransaction(trx, calls, firsts, duplicates))
}

/** Whether it may wait for others that change its pipeline or its environment. */
export function takesLocks({ start, hook: { plan, pipeline } }: CallToStore): boolean {
  const isSimple = plan.kind === 'plan' && pipeline.queuePolicy === 'queue' && !pipeline.hasDependents
  return start !== null && !isSimple
}

/** Of several calls with one idempotency key in a batch, the first counts; the others share its result. */
function separateDuplicates(calls: Calls) {
  const firstByKey = new Map<string, number>()
  const firsts: number[] = []
  const duplicates: Duplicate[] = []
  calls.forEach(({ hook, start }, n) => {
    if (start?.duplicateOf !== undefined) {
      duplicates.push({ n, first: n })
      return
    }
    const key = start?.key && `${hook.id} ${start.key.toString('latin1')}`
    const first = key ? firstByKey.get(key) : undefined
    if (first !== undefined) {
      duplicates.push({ n, first })
      return
    }
    if (key) firstByKey.set(key, n)
    firsts.push(n)
  })
  return { firsts, duplicates }
}

async function commitInOneStatement(
  { db, single }: CallDatabases,
  calls: Calls,
  firsts: number[],
): Promise<StoredCall[]> {
  const inserted = await insertCalls(single, calls, firsts)
  if (inserted.length < firsts.length) return calls.map(() => STALE)
  const results: Results = calls.map(() => undefined)
  const duplicates = collectResults(inserted, results)
  // The others are committed by now: an error here must not cause them to be stored again.
  if (duplicates.length > 0)
    await db
      .transaction()
      .execute((trx) => storeDuplicates(trx, calls, duplicates, results))
      .catch(() => {
        for (const { n } of duplicates) results[n] = STALE
      })
  return results as StoredCall[]
}

/** For calls of one tree version, whose duplicates among each other are separated. Nothing is stored when they are stale. */
export async function commitInTransaction(
  trx: Transaction,
  calls: Calls,
  firsts: number[],
  duplicates: Duplicate[],
): Promise<StoredCall[]> {
  await sql`select set_config('lock_timeout', ${SERVER_LIMIT}, true), ${RELEASE_WHEN_SILENT}`.execute(trx)
  const results: Results = calls.map(() => undefined)
  const resolved = await resolveWithoutStart(trx, calls, firsts)
  for (const [n, result] of resolved) results[n] = result
  // Inserting checks the version itself; what is resolved without it must be current as well.
  if (resolved.size > 0 || firsts.length === 0) {
    const { version } = await trx.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
    if (version !== calls[0]!.version) return calls.map(() => STALE)
  }
  const starting = firsts.filter((n) => !resolved.has(n))
  const inserted = await insertCalls(trx, calls, starting)
  if (inserted.length < starting.length) return calls.map(() => STALE)
  const known = [...resolved].flatMap(([n, { kind }]) => (kind === 'duplicate' ? [{ n, first: n }] : []))
  known.push(...collectResults(inserted, results))
  for (const duplicate of duplicates) {
    if (results[duplicate.first]?.kind === 'refused') results[duplicate.n] = { kind: 'refused' }
    else known.push(duplicate)
  }
  await storeDuplicates(trx, calls, known, results)
  await updateOtherRuns(trx, calls, results)
  return results as StoredCall[]
}

/** Fills in the results of inserted calls; returns those that turned out to be duplicates of stored ones. */
function collectResults(inserted: readonly Inserted[], results: Results): Duplicate[] {
  return inserted.flatMap(({ n, action_id, fresh }) => {
    if (action_id !== null && !fresh) return [{ n, first: n }]
    results[n] = action_id === null ? { kind: 'recorded' } : { kind: 'started', actionId: action_id }
    return []
  })
}

/** Each duplicate gets a record that refers to the action of the first call. */
async function storeDuplicates(
  trx: Transaction,
  calls: Calls,
  duplicates: readonly Duplicate[],
  results: Results,
): Promise<void> {
  for (const { n, first } of duplicates.toSorted((one, other) => one.first - other.first)) {
    const { hook, record, start } = calls[n]!
    const known = results[first]
    const actionId =
      known && 'actionId' in known
        ? known.actionId
        : (start!.duplicateOf ?? (await claimedAction(trx, hook.id, start!.key!)))
    results[n] = { kind: 'duplicate', actionId }
    await trx
      .insertInto('hook_requests')
      .values({
        ...record,
        hook_id: hook.id,
        type: 'incoming',
        action_id: actionId,
        method: 'POST',
        outcome: 'duplicate',
        response_status_code: 200,
        response_body: null,
        request_headers: JSON.stringify(record.request_headers),
      })
      .execute()
  }
}

/** However old it is by now: it was found before. */
async function claimedAction(trx: Transaction, hookId: string, key: Buffer): Promise<number> {
  const claim = await trx
    .selectFrom('delivery_claims')
    .select('action_id')
    .where('hook_id', '=', hookId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow()
  return claim.action_id
}

/**
 * The calls that start nothing because their pipeline cannot run or has no free slot. A known idempotency key is a
 * duplicate all the same, and takes no slot. Most pipelines queue any number of runs and need no check.
 */
async function resolveWithoutStart(trx: Transaction, calls: Calls, firsts: readonly number[]) {
  const resolved = new Map<number, Extract<StoredCall, { kind: 'duplicate' | 'refused' }>>()
  const pipelineOf = (n: number) => calls[n]!.hook.pipeline
  const isImpossible = (n: number) => calls[n]!.hook.plan.kind === 'impossible'
  const rejectable = firsts.filter(
    (n) => calls[n]!.start && (isImpossible(n) || pipelineOf(n).queuePolicy !== 'queue'),
  )
  if (rejectable.length === 0) return resolved
  const limited = rejectable.filter((n) => !isImpossible(n))
  await lockPipelines(trx, limited.map(pipelineOf))
  for (const { n, action_id } of await findClaims(trx, calls, rejectable))
    resolved.set(n, { kind: 'duplicate', actionId: action_id })
  const starting = limited.filter((n) => !resolved.has(n))
  const acquired = await acquireSlots(trx, starting.map(pipelineOf))
  const refused = [...starting.filter((_, index) => !acquired[index]), ...rejectable.filter(isImpossible)]
  for (const n of refused) if (!resolved.has(n)) resolved.set(n, { kind: 'refused' })
  return resolved
}

async function findClaims(
  trx: Transaction,
  calls: Calls,
  wanted: readonly number[],
): Promise<{ n: number; action_id: number }[]> {
  const keys = wanted.flatMap((n) => {
    const { hook, start } = calls[n]!
    return start?.key ? [{ n, hook_id: hook.id, key: start.key.toString('hex') }] : []
  })
  if (keys.length === 0) return []
  const { rows } = await sql<{ n: number; action_id: number }>`
    select n, action_id from json_to_recordset(${JSON.stringify(keys)}::json) as c (n int, hook_id uuid, key text)
    join delivery_claims claim on claim.hook_id = c.hook_id and claim.key = decode(c.key, 'hex')
    where claimed_at >= now() - ${sql.raw(CLAIM_TTL)}`.execute(trx)
  return rows
}

/** Started runs may start runs of other pipelines, and supersede older runs of their own. */
async function updateOtherRuns(trx: Transaction, calls: Calls, results: Results): Promise<void> {
  const started = calls.flatMap(({ hook: { pipeline } }, n) => {
    const result = results[n]
    return result?.kind === 'started' ? [{ pipeline, actionId: result.actionId }] : []
  })
  const parents = started.filter(({ pipeline }) => pipeline.hasDependents).map(({ actionId }) => actionId)
  if (parents.length > 0) await startChildren(trx, parents)
  const latest = started.filter(({ pipeline }) => pipeline.queuePolicy === 'latest')
  const pipelines = new Map(latest.map(({ pipeline }) => [pipeline.id, pipeline]))
  if (pipelines.size > 0) await supersedeOlder(trx, [...pipelines.values()])
}
