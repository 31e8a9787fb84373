import { CompiledQuery, type Transaction } from 'kysely'
import {
  NEXT_ACTION_ID,
  PLAN_COLUMNS,
  START_COLUMNS,
  type Start,
  startingActions,
} from '#actions/start-actions.ts'
import { firstState } from '#actions/status.ts'
import type { Tables } from '#database/tables.ts'
import { type CallToStore, CLAIM_LIFE } from './call-to-store.ts'
import { chooseSource } from './choose-source.ts'
import type { CompiledHook } from './compiled-hook.ts'
import type { Variables } from './extract-variables.ts'

export type Inserted = { n: number; action_id: number | null; fresh: boolean }

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

/** Stores the wanted ones of these calls; fewer rows come back when the tree has changed since they were judged. */
export async function insertCalls(
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
