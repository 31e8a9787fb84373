import { CompiledQuery, sql, type Transaction } from 'kysely'
import {
  NEXT_ACTION_ID,
  PLAN_COLUMNS,
  START_COLUMNS,
  type Start,
  startingActions,
} from '#actions/start-actions.ts'
import { firstState } from '#actions/status.ts'
import { supersedeOlder } from '#actions/supersede.ts'
import type { Database } from '#database/connect.ts'
import type { Tables } from '#database/tables.ts'
import { lockPipelines, takePlaces } from '#pipelines/queue-policy.ts'
import { chooseSource } from './choose-source.ts'
import type { CompiledHook } from './compiled-hook.ts'
import type { Variables } from './extract-variables.ts'

/** A judged call on its way into the database. */
export type CallToStore = {
  hook: CompiledHook
  /** Of the tree, when the hook was compiled. */
  version: number
  record: CallRecord
  /** Null: the call starts nothing, only its record is stored. */
  start: { variables: Variables; key: Buffer | null; origin: string | null; startedBy: Starter } | null
}

/** Who a run is attributed to: the hook or, for a replay, the person who asked for it. */
export type Starter = { kind: 'hook' } | { kind: 'person'; id: number; name: string; email: string }

export type CallRecord = {
  id: string
  outcome: string
  response_status_code: number
  ip_address: string | null
  url: string
  headers: Record<string, unknown> | null
  content_type: string | null
  body: Buffer | null
  /** What the caller was told, when it is more than the outcome says. */
  response: object | null
  retry_of: string | null
  duration_ms: number
}

export type StoredCall =
  | { kind: 'started'; actionId: number }
  | { kind: 'duplicate'; actionId: number }
  | { kind: 'recorded' }
  /** The pipeline cannot run, or its queue policy allows no further run now. Nothing was stored. */
  | { kind: 'refused' }
  /** The tree has changed since the call was judged: judge it again. Nothing was stored. */
  | { kind: 'stale' }

export type EnqueueRuns = (trx: Transaction<Tables>, actionIds: number[]) => Promise<void>

/**
 * Stores calls that came together, with all that they start, in one transaction; results in the order of
 * the calls. Throws when nothing was stored. All calls must have been judged at the same version.
 */
export function commitCalls(
  db: Database,
  calls: readonly CallToStore[],
  enqueueRuns: EnqueueRuns,
): Promise<StoredCall[]> {
  return db.transaction().execute(async (trx) => {
    const results: (StoredCall | undefined)[] = calls.map(() => undefined)
    const { leaders, followers } = separateCopies(calls)
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
    for (const { n, action_id, fresh } of inserted) {
      if (action_id === null) results[n] = { kind: 'recorded' }
      else if (fresh) results[n] = { kind: 'started', actionId: action_id }
      else copies.push({ n, leader: n })
    }
    await storeDuplicates(trx, calls, copies, results)
    const started = results.flatMap((one) => (one?.kind === 'started' ? [one.actionId] : []))
    if (started.length > 0) {
      await supersede(trx, calls, results)
      await enqueueRuns(trx, started)
    }
    return results as StoredCall[]
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

type Inserted = { n: number; action_id: number | null; fresh: boolean }

/** For how long a delivery is remembered. */
const CLAIM_LIFE = `interval '24 hours'`

/** A claim is free when nobody has it, or when it is older than a day. */
const FRESH = `(plan is null or key is null or action_id in (select claimed.action_id from claimed))`

// $1 the calls as JSON, $2 their bodies one after another, $3 the version of the tree, $4 the plans.
const INSERT_CALLS = `
  with input as materialized (
    select c.*, case when c.plan is null then null else ${NEXT_ACTION_ID} end as action_id
    from json_to_recordset($1::json) as c (n int, key text, body_at int, body_length int, outcome text,
      response_status_code int, response text, request_headers json, content_type text, url text, duration_ms int,
      request_retry_of uuid, ${START_COLUMNS})
    where (select version from tree_version) = $3::bigint
  ),
  claimed as (
    insert into delivery_claims (hook_id, key, action_id)
    select hook_id, decode(key, 'hex'), action_id from input where key is not null order by hook_id, key
    on conflict (hook_id, key) do update set action_id = excluded.action_id, claimed_at = now()
      where delivery_claims.claimed_at < now() - ${CLAIM_LIFE}
    returning action_id
  ),
  starts as materialized (select * from input where plan is not null and ${FRESH}),
  plans as materialized (select * from json_to_recordset($4::json) as p (${PLAN_COLUMNS})),
  ${startingActions},
  new_requests as (
    insert into hook_requests (id, hook_id, type, action_id, retry_of, ip_address, url, method, outcome,
      response_status_code, request_headers, content_type, request_body, response_body, duration_ms)
    select hook_request_id, hook_id, 'incoming', action_id, request_retry_of, ip_address, url, 'POST', outcome,
      response_status_code, request_headers, content_type,
      case when body_length is null then null else substr($2::bytea, body_at, body_length) end,
      convert_to(response, 'UTF8'), duration_ms
    from input where ${FRESH}
  )
  select n, action_id, ${FRESH} as fresh from input`

async function insertCalls(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  wanted: number[],
): Promise<Inserted[]> {
  if (wanted.length === 0) return []
  const bodies: Buffer[] = []
  let bodyAt = 1
  const plans = new Map<CompiledHook, number>()
  const rows = wanted.map((n) => {
    const call = calls[n]!
    const { body } = call.record
    const row = {
      n,
      ...recordColumns(call),
      body_at: bodyAt,
      body_length: body?.length ?? null,
      ...startColumns(call, plans),
    }
    if (body) {
      bodies.push(body)
      bodyAt += body.length
    }
    return row
  })
  const parameters = [
    JSON.stringify(rows),
    Buffer.concat(bodies),
    calls[wanted[0]!]!.version,
    JSON.stringify(planRows(plans)),
  ]
  const { rows: inserted } = await trx.executeQuery<Inserted>(CompiledQuery.raw(INSERT_CALLS, parameters))
  return inserted
}

function recordColumns({ hook, record }: CallToStore) {
  return {
    hook_id: hook.id,
    hook_request_id: record.id,
    request_retry_of: record.retry_of,
    ip_address: record.ip_address,
    url: record.url,
    outcome: record.outcome,
    response_status_code: record.response_status_code,
    response: record.response && JSON.stringify(record.response),
    request_headers: record.headers,
    content_type: record.content_type,
    duration_ms: record.duration_ms,
  }
}

function startColumns(
  { hook, record, start }: CallToStore,
  plans: Map<CompiledHook, number>,
): Partial<Start> & { key?: string | null } {
  if (!start) return {}
  const { pipeline, application } = hook
  const { status, reason } = firstState({ waitsForParent: false })
  const person = start.startedBy.kind === 'person' ? start.startedBy : null
  if (!plans.has(hook)) plans.set(hook, plans.size)
  return {
    key: start.key?.toString('hex') ?? null,
    plan: plans.get(hook)!,
    environment_id: pipeline.environmentId,
    pipeline_id: pipeline.id,
    type: pipeline.operation,
    status,
    status_reason_code: reason,
    trigger_type: 'hook',
    origin: start.origin,
    trigger_name: person?.name ?? hook.name,
    trigger_email: person?.email ?? null,
    triggered_by: person?.id ?? null,
    hook_id: hook.id,
    hook_request_id: record.id,
    hook_parsed_variables: start.variables,
    deployment: deploymentOf(hook, start.variables),
    credential_id: application?.credentialId ?? null,
  }
}

function deploymentOf({ pipeline, application }: CompiledHook, variables: Variables): object | null {
  if (pipeline.operation !== 'deploy' || !application) return null
  return {
    type: 'deploy',
    ...chooseSource(variables, application.defaultBranch),
    repository: application.repository,
    provider_name: application.provider,
  }
}

function planRows(plans: Map<CompiledHook, number>): object[] {
  return [...plans].flatMap(([{ plan }, number]) => {
    if (plan.kind === 'impossible')
      throw new Error('A call to a pipeline that cannot run must not come this far')
    return plan.targets.map(({ position, batch, serverId }) => ({
      plan: number,
      position,
      batch,
      server_id: serverId,
      steps: plan.steps,
    }))
  })
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
  const taken = await takePlaces(trx, starting.map(pipelineOf))
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

async function supersede(
  trx: Transaction<Tables>,
  calls: readonly CallToStore[],
  results: (StoredCall | undefined)[],
): Promise<void> {
  const latest = calls.filter(
    ({ hook }, n) => hook.pipeline.queuePolicy === 'latest' && results[n]?.kind === 'started',
  )
  if (latest.length > 0) await supersedeOlder(trx, [...new Set(latest.map(({ hook }) => hook.pipeline.id))])
}
