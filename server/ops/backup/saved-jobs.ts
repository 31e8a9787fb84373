import { quoted } from './catalog.ts'

// Unfinished jobs are saved; finished ones are not. The tables of the queue belong to its library, so a job is saved
// without the settings of its queue, and takes those of the queue that it is restored to.

const COLUMNS = {
  id: 'uuid',
  name: 'text',
  priority: 'integer',
  data: 'jsonb',
  state: 'text',
  retry_count: 'integer',
  retry_limit: 'integer',
  singleton_key: 'text',
  singleton_on: 'timestamp',
  group_id: 'text',
  group_tier: 'text',
  start_after: 'timestamptz',
  created_on: 'timestamptz',
  started_on: 'timestamptz',
  output: 'jsonb',
  source_name: 'text',
  source_id: 'uuid',
  source_created_on: 'timestamptz',
  source_retry_count: 'integer',
  source_output: 'jsonb',
  source_root_id: 'uuid',
}

const names = Object.keys(COLUMNS).map(quoted).join(', ')

export const SELECT_JOBS = `select ${names} from queue.job where state < 'completed'`

export const CREATE_SAVED_JOBS = `create temporary table saved_jobs (
  ${Object.entries(COLUMNS)
    .map(([name, type]) => `${quoted(name)} ${type}`)
    .join(', ')}
) on commit drop`

export const COPY_SAVED_JOBS = `copy saved_jobs (${names}) from stdin`

/**
 * A job that ran when the backup was made is treated as one whose worker was lost: attempts are counted on from the
 * last one, so that two attempts never have the same number. Jobs with a name that this version does not know are
 * skipped.
 */
export const RESTORE_JOBS = `
  insert into queue.job (id, name, priority, data, state, retry_count, retry_limit, singleton_key, singleton_on,
    group_id, group_tier, start_after, created_on, started_on, output, source_name, source_id, source_created_on,
    source_retry_count, source_output, source_root_id, keep_until, retry_delay, retry_backoff, retry_delay_max,
    expire_seconds, deletion_seconds, dead_letter, policy, heartbeat_seconds)
  select saved.id, saved.name, saved.priority, saved.data,
    (case when saved.state = 'active' then 'retry' else saved.state end)::queue.job_state,
    saved.retry_count, greatest(saved.retry_limit, q.retry_limit), saved.singleton_key, saved.singleton_on,
    saved.group_id, saved.group_tier,
    case when saved.state = 'active' then queue.job_now() else saved.start_after end,
    saved.created_on, saved.started_on, saved.output, saved.source_name, saved.source_id, saved.source_created_on,
    saved.source_retry_count, saved.source_output, saved.source_root_id,
    queue.job_now() + q.retention_seconds * interval '1s', q.retry_delay, coalesce(q.retry_backoff, false),
    q.retry_delay_max, q.expire_seconds, q.deletion_seconds, q.dead_letter, q.policy, q.heartbeat_seconds
  from saved_jobs saved join queue.queue q on q.name = saved.name`

export const UNKNOWN_JOBS = `
  select name, count(*)::int as jobs from saved_jobs
  where not exists (select from queue.queue q where q.name = saved_jobs.name) group by name order by name`
