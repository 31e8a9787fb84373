import { CompiledQuery } from 'kysely'
import {
  FAN_OUT_CREATION,
  INSERT_ACTIONS,
  lockNamed,
  NEXT_ACTION_ID,
  NOTIFY_STARTS,
  PLAN_COLUMNS,
} from '#model/actions/start-actions.ts'
import { firstState, WAITING_FOR_APPROVAL, WAITING_FOR_CHECKS } from '#model/actions/status.ts'
import { NOTIFY_DELIVERIES } from '#model/events/fan-out.ts'
import { chooseSource } from '#model/payload/choose-source.ts'
import type { Variables } from '#model/payload/extract-variables.ts'
import { planRows } from '#model/pipelines/plan.ts'
import { byteas, int4s, int8s, jsonbs, jsons, texts, uuids } from '#platform/database/binary-arrays.ts'
import { Chunks } from '#platform/database/chunks.ts'
import type { Database } from '#platform/database/connect.ts'
import { addingJob, wakingWorkers } from '#platform/queue/job-sql.ts'
import type { CompiledHook } from './compiled-hook.ts'
import type { CallRecord } from './evaluate-call.ts'

/** An evaluated call on its way into the database. */
export type CallToStore = {
  hook: CompiledHook
  /** The tree version that the hook was compiled at. */
  version: number
  record: CallRecord
  /** Null: the call starts nothing, only its record is stored. */
  start: (StartedBy & { variables: Variables }) | null
}

/** Who a run is attributed to: the hook or, for a replay, the user who requested it. */
export type StartedBy = {
  key: Buffer | null
  /** The run that another call has started for the same push. */
  duplicateOf?: number | undefined
  origin: string | null
  user: { id: number; name: string; email: string } | null
}

/**
 * How long the idempotency key of a call is remembered. Those of connected hooks count as claimed a week later: a host can be
 * asked for days to deliver a call again.
 */
export const CLAIM_TTL = `interval '24 hours'`
const LONGER_WHEN_CONNECTED = `case when is_connected then interval '7 days' else interval '0' end`

export type Inserted = { n: number; action_id: number | null; fresh: boolean }

const FIRST = firstState({ waitsForParent: false })

/** An idempotency key is free when nobody has claimed it, or when the claim has expired. */
const FRESH = `(plan is null or key is null or action_id in (select claimed.action_id from claimed))`

/**
 * Where others wait for the pipeline already, runs are stored as waiting, which saves moving them there. Where this many
 * wait, they need no job either: each of those ahead frees a slot when it ends, and the pass that assigns it comes to
 * them. Between our snapshot and our commit a few may end and leave nobody to free a slot, hardly this many; what is
 * missed all the same is found by `scheduling.sweep`.
 *
 * They are the next rows in the order that only the index of runs without a slot provides, which leaves out those at a gate.
 */
const CROWD = 8

const REMEMBERED = ', delivery_id, pushed_ref, pushed_commit'

/**
 * The payload of the job that schedules the started runs. Where few wait, it looks whether a slot became free meanwhile. Those
 * that need approval have a request instead, which a worker claims like a job.
 */
const RUNS = `(select jsonb_build_object('action_ids', jsonb_agg(action_id)) from starts
    where not is_crowded and not needs_approval having count(*) > 0)`

const REQUESTED = `
  requested as (
    insert into approval_requests (action_id, environment_id, pipeline_id)
    select action_id, environment_id, pipeline_id from starts where needs_approval order by action_id
  ),`

// Input: the calls, column by column (from $4 on); their hooks and the plans of their runs, as JSON because they are few.
// $27 to $29 hold what is remembered of calls to connected hooks, if any; the last one the bodies, one after another.
const insertStatement = (options: { notifies: boolean; remembers: boolean; asks: boolean }) => `
  with hooks_called as materialized (
    select * from json_to_recordset($2::json) as h (hook int, hook_id uuid, hook_name text, environment_id bigint,
      pipeline_id bigint, type text, credential_id bigint, gate_reason text, is_connected boolean)
  ),
  plans as materialized (select * from json_to_recordset($3::json) as p (${PLAN_COLUMNS})),
  ${lockNamed('hooks_called')},
  input as materialized (
    select c.*, h.*, case when c.plan is null then null else ${NEXT_ACTION_ID} end as action_id
    from unnest($4::int[], $5::int[], $6::int[], $7::uuid[], $8::bytea[], $9::int[], $10::int[], $11::text[],
      $12::int[], $13::text[], $14::json[], $15::text[], $16::text[], $17::int[], $18::uuid[], $19::text[],
      $20::text[], $21::bigint[], $22::text[], $23::text[], $24::jsonb[], $25::jsonb[], $26::int[]${options.remembers ? ', $27::text[], $28::text[], $29::text[]' : ''})
      as c (n, called, plan, hook_request_id, key, body_at, body_length, outcome, response_status_code, response,
        request_headers, content_type, url, duration_ms, request_retry_of, ip_address, origin, triggered_by,
        person_name, trigger_email, hook_parsed_variables, deployment, body_bytes${options.remembers ? REMEMBERED : ''})
    join hooks_called h on h.hook = c.called
    where (select version from tree_version) = $1::bigint and (select complete from named)
  ),
  ahead as materialized (
    select p.id as pipeline_id, (
      select count(*) from (
        select a.pipeline_id, a.status from actions a
        where (a.pipeline_id, a.id) > (p.id, 0) and a.status in ('queued', 'waiting') and not a.has_place
          and a.gate is null
        order by a.pipeline_id, a.id limit ${CROWD}
      ) as next
      where next.pipeline_id = p.id and next.status = 'waiting') as count
    from pipelines p
    where p.id in (select pipeline_id from hooks_called) and p.max_parallel_actions > 0
      and p.queue_policy = 'queue'
  ),
  claimed as (
    insert into delivery_claims (hook_id, key, action_id${options.remembers ? ', claimed_at' : ''})
    select hook_id, key, action_id${options.remembers ? `, now() + ${LONGER_WHEN_CONNECTED}` : ''}
    from input where key is not null order by hook_id, key
    on conflict (hook_id, key) do update set action_id = excluded.action_id,
        claimed_at = ${options.remembers ? 'excluded.claimed_at' : 'now()'}
      where delivery_claims.claimed_at < now() - ${CLAIM_TTL}
    returning action_id
  ),
  starts as materialized (
    select *, gate_reason is null and pipeline_id in (select ahead.pipeline_id from ahead where count > 0) as waits,
      gate_reason is null and pipeline_id in (select ahead.pipeline_id from ahead where count = ${CROWD}) as is_crowded,
      gate_reason is not distinct from '${WAITING_FOR_APPROVAL.reason}' as needs_approval,
      case when gate_reason is null then '${FIRST.status}' else 'waiting' end as status,
      coalesce(gate_reason, '${FIRST.reason}') as status_reason_code, 'hook' as trigger_type,
      coalesce(person_name, hook_name) as trigger_name, null as trigger_comment,
      null::jsonb as variables, null::jsonb as commit, null::text as release_name, null::bigint as retry_of,
      null::bigint as parent_id
    from input where plan is not null and ${FRESH}
  ),
  ${INSERT_ACTIONS},${options.asks ? REQUESTED : ''}${options.notifies ? `${FAN_OUT_CREATION},` : ''}
  ${addingJob('actions.run', RUNS)},
  new_requests as (
    insert into hook_requests (id, hook_id, type, action_id, retry_of, ip_address, url, method, outcome,
      response_status_code, request_headers, content_type, request_body, response_body, duration_ms,
      body_bytes${options.remembers ? REMEMBERED : ''})
    select hook_request_id, hook_id, 'incoming', action_id, request_retry_of, ip_address, url, 'POST', outcome,
      response_status_code, request_headers, content_type,
      substr($${options.remembers ? 30 : 27}::bytea, body_at, body_length), convert_to(response, 'UTF8'), duration_ms,
      body_bytes${options.remembers ? REMEMBERED : ''}
    from input where ${FRESH}
  )
  select n, action_id, ${FRESH} as fresh, ${NOTIFY_STARTS}, ${wakingWorkers('actions.run')}
    ${options.notifies ? `, ${NOTIFY_DELIVERIES}` : ''} from input`

/**
 * Notifying is slower, and needed only where outgoing hooks subscribe to the start of runs; remembering, where hooks are
 * connected; asking, where runs need approval.
 */
const STATEMENTS = [false, true].map((notifies) =>
  [false, true].map((remembers) =>
    [false, true].map((asks) => insertStatement({ notifies, remembers, asks })),
  ),
)

/**
 * Stores the wanted calls with everything they start, in one statement: outside of a transaction it is its own. Returns
 * fewer rows when the tree has changed since the calls were evaluated, or something that they name is gone.
 */
export async function insertCalls(
  db: Database,
  calls: readonly CallToStore[],
  wanted: number[],
): Promise<Inserted[]> {
  if (wanted.length === 0) return []
  const hooks = [...new Set(wanted.map((n) => calls[n]!.hook))]
  const parameters = [
    calls[wanted[0]!]!.version,
    JSON.stringify(hooks.map(hookRow)),
    // A pipeline that cannot run has no plan, and no call starts a run of it.
    JSON.stringify(hooks.flatMap(({ plan }, number) => (plan.kind === 'plan' ? planRows(plan, number) : []))),
    int4s(wanted),
    ...callColumns(
      wanted.map((n) => calls[n]!),
      new Map(hooks.map((hook, number) => [hook, number])),
    ),
  ]
  const notifies = hooks.some((hook) => hook.notifiesOnStart)
  const remembers = hooks.some((hook) => hook.isConnected)
  if (remembers) {
    const records = wanted.map((n) => calls[n]!.record)
    parameters.push(
      texts(records.map((record) => record.delivery_id)),
      texts(records.map((record) => record.pushed_ref)),
      texts(records.map((record) => record.pushed_commit)),
    )
  }
  const asks = hooks.some(({ pipeline }) => gateReasonOf(pipeline) === WAITING_FOR_APPROVAL.reason)
  const statement = STATEMENTS[Number(notifies)]![Number(remembers)]![Number(asks)]!
  // They go from the caller's socket to the database's as they are.
  const bodies = new Chunks(wanted.flatMap((n) => calls[n]!.record.request_body ?? []))
  const { rows } = await db.executeQuery<Inserted>(CompiledQuery.raw(statement, [...parameters, bodies]))
  return rows
}

/** In the order of the statement, starting with `called`. */
function callColumns(calls: readonly CallToStore[], numbers: Map<CompiledHook, number>): Buffer[] {
  let bodyAt = 1
  const bodyOffsets = calls.map(({ record }) => {
    const offset = bodyAt
    bodyAt += record.request_body?.length ?? 0
    return offset
  })
  const column = <Value>(read: (call: CallToStore) => Value) => calls.map(read)
  return [
    int4s(column(({ hook }) => numbers.get(hook)!)),
    int4s(column(({ hook, start }) => (start ? numbers.get(hook)! : null))),
    uuids(column(({ record }) => record.id)),
    byteas(column(({ start }) => start?.key ?? null)),
    int4s(bodyOffsets),
    // Without a length there is no body.
    int4s(column(({ record }) => record.request_body?.length ?? null)),
    texts(column(({ record }) => record.outcome)),
    int4s(column(({ record }) => record.response_status_code)),
    texts(column(({ record }) => record.response_body)),
    jsons(column(({ record }) => record.request_headers)),
    texts(column(({ record }) => record.content_type)),
    texts(column(({ record }) => record.url)),
    int4s(column(({ record }) => record.duration_ms)),
    uuids(column(({ record }) => record.retry_of)),
    texts(column(({ record }) => record.ip_address)),
    texts(column(({ start }) => start?.origin ?? null)),
    int8s(column(({ start }) => start?.user?.id ?? null)),
    texts(column(({ start }) => start?.user?.name ?? null)),
    texts(column(({ start }) => start?.user?.email ?? null)),
    jsonbs(column(({ start }) => start?.variables ?? null)),
    jsonbs(column(({ hook, start }) => start && deploymentOf(hook, start.variables))),
    int4s(column(({ record }) => record.body_bytes)),
  ]
}

function hookRow({ id, name, pipeline, application, isConnected }: CompiledHook, number: number): object {
  return {
    hook: number,
    hook_id: id,
    hook_name: name,
    environment_id: pipeline.environmentId,
    pipeline_id: pipeline.id,
    type: pipeline.operation,
    gate_reason: gateReasonOf(pipeline),
    ...(isConnected && { is_connected: true }),
    credential_id: (pipeline.operation === 'deploy' && application?.credentialId) || null,
  }
}

/** Freezes are not judged on the path of a call. */
function gateReasonOf({ needsChecks, needsApproval }: CompiledHook['pipeline']): string | null {
  if (needsChecks) return WAITING_FOR_CHECKS.reason
  return needsApproval ? WAITING_FOR_APPROVAL.reason : null
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
