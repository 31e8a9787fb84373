import { CompiledQuery, type Selectable } from 'kysely'
import {
  CREATION_KINDS,
  INSERT_FIRST_DELIVERIES,
  NOTIFY_DELIVERIES,
  WAITING_KINDS,
} from '#model/events/fan-out.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { ActionsTable, StoredStep } from '#platform/database/tables.ts'
import { ACTIONS_CHANNEL } from './channel.ts'
import { WAITING_FOR_PIPELINE as WAITING, WAITING_FOR_APPROVAL, WAITING_FOR_CHECKS } from './status.ts'

/**
 * Actions are inserted as part of a larger statement, because what starts them (a call, a person, another action) is
 * stored with them: a caller builds the relations `starts` and `plans` and appends `INSERT_ACTIONS`. Several
 * thousand starts a second go through here.
 *
 * - `starts`: one row per action, with START_COLUMNS; `action_id` comes from NEXT_ACTION_ID, so that other parts of
 *   the statement can use it, and `waits` is true where the action waits for its pipeline from the beginning.
 * - `plans`: one row per target of each distinct plan, with PLAN_COLUMNS; `starts.plan` refers to it.
 */
export const NEXT_ACTION_ID = `nextval('actions_id_seq')`

export const START_COLUMNS = `
  plan int, environment_id bigint, pipeline_id bigint, type text, status text, status_reason_code text,
  trigger_type text, trigger_comment text, origin text, trigger_name text, trigger_email text, ip_address text,
  triggered_by bigint, hook_id uuid, hook_request_id uuid, hook_parsed_variables jsonb, variables jsonb,
  deployment jsonb, commit jsonb, release_name text, credential_id bigint, retry_of bigint, parent_id bigint`

/** All of them but `plan`. */
const ACTION_COLUMNS = START_COLUMNS.replaceAll(/ (int|bigint|text|uuid|jsonb)\b/g, '').replace('plan,', '')

const ACTION_COLUMNS_WAITING = ACTION_COLUMNS.replace(
  'status,',
  `case when waits then '${WAITING.status}' else status end,`,
).replace('status_reason_code,', `case when waits then '${WAITING.reason}' else status_reason_code end,`)

export const PLAN_COLUMNS = `plan int, position int, batch int, server_id bigint, steps jsonb`

/**
 * Actions and targets have no foreign keys to pipelines, hooks and servers, which would be checked row by row. Instead every
 * statement that inserts them checks once, as foreign keys would: what is named is locked against removal, and counted.
 * Nothing may be inserted unless `(select complete from named)`. `from` is a relation with the columns pipeline_id,
 * environment_id, type and hook_id; `plans` must exist.
 */
export const lockNamed = (from: string) => `
  named_pipelines as materialized (
    select from pipelines p where (p.id, p.environment_id, p.operation) in (
      select pipeline_id, environment_id, type from ${from}) for key share
  ),
  named_hooks as materialized (
    select from hooks where id in (select hook_id from ${from}) for key share
  ),
  named_servers as materialized (
    select from servers where id in (select server_id from plans) for key share
  ),
  named as materialized (
    select (select count(*) from named_pipelines) = count(distinct (pipeline_id, environment_id, type))
      and (select count(*) from named_hooks) = count(distinct hook_id)
      and (select count(*) from named_servers) = (select count(distinct server_id) from plans) as complete
    from ${from}
  )`

/**
 * The branch of a run: its variable `branch`, or else the branch that it deploys. Hostile names are cut, so that an index
 * can hold them.
 */
const BRANCH = `nullif(left(regexp_replace(coalesce(
  coalesce(variables, hook_parsed_variables) ->> 'branch',
  case deployment ->> 'source_type' when 'branch' then deployment ->> 'source_ref' end), '^refs/heads/', ''), 500), '')`

/** Calls insert runs directly at these gates. */
const gateCases = (checks: string, approval: string) =>
  `when '${WAITING_FOR_CHECKS.reason}' then '${checks}' when '${WAITING_FOR_APPROVAL.reason}' then '${approval}'`

export const INSERT_ACTIONS = `
  new_actions as (
    insert into actions (id, ${ACTION_COLUMNS}, branch, gate) overriding system value
    select action_id, ${ACTION_COLUMNS_WAITING}, ${BRANCH},
      case status_reason_code ${gateCases('checks', 'approval')} end
    from starts order by action_id
  ),
  new_targets as (
    insert into targets (action_id, position, batch, server_id, status, status_reason_code, steps)
    select starts.action_id, plans.position, plans.batch, plans.server_id, 'pending', 'PENDING', plans.steps
    from starts join plans using (plan) order by starts.action_id, plans.position
  ),
  new_events as (
    insert into events (action_id, previous_status, status, status_reason_code, gate_event)
    select action_id, previous_status, status, status_reason_code,
      case status_reason_code ${gateCases('gate_changed', 'gate_changed')} end
    from (
      select action_id, null as previous_status, status, status_reason_code from starts
      union all
      select action_id, status, '${WAITING.status}', '${WAITING.reason}' from starts where waits
    ) as happened order by action_id, previous_status nulls first
    returning id as event_id, action_id, previous_status
  )`

/** Appended to `INSERT_ACTIONS` when a hook may be subscribed to the creation of these actions. */
export const FAN_OUT_CREATION = `
  notified as (
    select event_id, action_id, pipeline_id, false as is_final,
      case when previous_status is null then ${CREATION_KINDS} else ${WAITING_KINDS} end as kinds
    from new_events join starts using (action_id)
  ),
  ${INSERT_FIRST_DELIVERIES}`

/** Selected by the statement: notifies streams of new actions. */
export const NOTIFY_STARTS = `(select pg_notify('${ACTIONS_CHANNEL}', 'move ' || min(action_id)) from starts)`

/**
 * One row of `starts`, without its id. `variables` are those given by a person; null: those that the hook extracted
 * apply. `commit` is known in advance only for runs that reuse the commit of another run, `release_name` only for
 * rollbacks.
 */
export type Start = { plan: number } & Omit<
  Selectable<ActionsTable>,
  | 'id'
  | 'has_place'
  | 'gate'
  | 'branch'
  | 'cancelled_by'
  | 'cancelled_at'
  | 'started_at'
  | 'completed_at'
  | 'created_at'
  | 'updated_at'
>

/** Of a start about which nothing more is known. */
export const NO_DETAILS = {
  trigger_comment: null,
  origin: null,
  trigger_name: null,
  trigger_email: null,
  ip_address: null,
  triggered_by: null,
  hook_id: null,
  hook_request_id: null,
  hook_parsed_variables: {},
  variables: null,
  deployment: null,
  commit: null,
  release_name: null,
  credential_id: null,
  retry_of: null,
  parent_id: null,
} satisfies Partial<Start>

type PlanRow = {
  plan: number
  position: number
  batch: number
  server_id: number
  steps: StoredStep[]
}

const START = `
  with given as materialized (select * from json_to_recordset($1::json) as s (${START_COLUMNS})),
  plans as materialized (select * from json_to_recordset($2::json) as p (${PLAN_COLUMNS})),
  ${lockNamed('given')},
  starts as materialized (
    select ${NEXT_ACTION_ID} as action_id, false as waits, given.* from given where (select complete from named)
  ),
  ${INSERT_ACTIONS},
  ${FAN_OUT_CREATION}
  select action_id, ${NOTIFY_STARTS}, ${NOTIFY_DELIVERIES} from starts order by action_id`

/** Starts a few actions and returns their ids, in the order of `starts`. Nothing runs until a job is enqueued. */
export async function startActions(
  trx: Transaction,
  starts: readonly Start[],
  plans: readonly PlanRow[],
): Promise<number[]> {
  if (starts.length === 0) return []
  const parameters = [JSON.stringify(starts), JSON.stringify(plans)]
  const { rows } = await trx.executeQuery<{ action_id: number }>(CompiledQuery.raw(START, parameters))
  if (rows.length < starts.length)
    throw new Error('A run names a pipeline, a hook or a server that no longer exists')
  return rows.map((row) => row.action_id)
}
