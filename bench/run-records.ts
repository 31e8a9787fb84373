import type { OpenDatabase } from '#platform/database/connect.ts'
import { runStatement } from './workbench.ts'

const BATCH = 100_000
/** As many as `deployments_keep` has by default. */
const RELEASES_KEPT = 5

/**
 * What a worker writes while it makes stored runs (see stored-actions.ts): the events of a run, the moves of its target
 * and of six steps, a few lines of log per step, and which releases are on disk.
 */
export async function storeRunRecords({ settings }: OpenDatabase, count: number): Promise<void> {
  const batches = Array.from({ length: Math.ceil(count / BATCH) }, (_, index) => index * BATCH)
  await runStatement(
    settings,
    'set session_replication_role = replica',
    'set synchronous_commit = off',
    ...batches.flatMap((from) => [eventRows(from), moveRows(from), logRows(from)]),
    releaseRows(),
    'vacuum analyze',
    'checkpoint',
  )
}

function eventRows(from: number): string {
  return `insert into events (action_id, previous_status, status, status_reason_code, occurred_at)
    select a.id, moves.previous, coalesce(moves.status, a.status), coalesce(moves.reason, a.status_reason_code),
      a.created_at + moves.after * interval '1 second'
    from actions a, (values (null, 'pending', 'PENDING', 0), ('pending', 'queued', 'QUEUED', 1),
      ('queued', 'in-progress', 'IN_PROGRESS', 1), ('in-progress', null, null, 40)) as moves (previous, status, reason, after)
    where a.id > ${from} and a.id <= ${from + BATCH} and a.completed_at is not null order by a.id, after`
}

function moveRows(from: number): string {
  return `insert into target_moves (target_id, step_order, previous_status, status, status_reason_code, occurred_at)
    select t.id, moves.step, moves.previous, moves.status, moves.reason, t.created_at + moves.after * interval '1 second'
    from targets t, (
      select null::int as step, 'pending' as previous, 'queued' as status, 'QUEUED' as reason, 0 as after union all
      select null, 'queued', 'in-progress', 'IN_PROGRESS', 1 union all
      select n, 'pending', 'in-progress', 'IN_PROGRESS', n * 6 - 4 from generate_series(1, 6) as n union all
      select n, 'in-progress', 'completed', 'COMPLETED', n * 6 from generate_series(1, 6) as n union all
      select null, 'in-progress', 'completed', 'COMPLETED', 40) as moves
    where t.action_id > ${from} and t.action_id <= ${from + BATCH} and t.started_at is not null
      and (moves.step is null or moves.step <= jsonb_array_length(t.steps)) order by t.id, after`
}

function logRows(from: number): string {
  return `insert into step_log_chunks (target_id, step_order, start_offset, attempt, text, bytes, created_at)
    select t.id, step, 0, 1, log.text, length(log.text), t.created_at
    from targets t, generate_series(1, 6) as step,
      lateral (select repeat(md5((t.id * 6 + step)::text) || ' is what the step has printed here' || chr(10), 6) as text) as log
    where t.action_id > ${from} and t.action_id <= ${from + BATCH} and t.started_at is not null
      and step <= jsonb_array_length(t.steps) order by t.id, step`
}

function releaseRows(): string {
  return `insert into releases_on_disk (application_id, release_name, server_id)
    select p.application_id, kept.release_name, kept.server_id from pipelines p, lateral (
      select t.release_name, t.server_id from actions a join targets t on t.action_id = a.id
      where a.pipeline_id = p.id and a.status = 'completed' order by a.id desc limit ${RELEASES_KEPT}) as kept
    where p.operation = 'deploy' on conflict do nothing`
}
