import { SETTINGS } from './job-sql.ts'

// How a backup saves and restores jobs: the unfinished ones, without the settings of their queue. A restored job takes
// those of the queue that it is restored to.

const COLUMNS = `id, name, priority, data, state, retry_count, retry_limit, singleton_key, singleton_on, group_id,
  group_tier, start_after, created_on, started_on, output, source_name, source_id, source_created_on,
  source_retry_count, source_output, source_root_id`

const SELECT = `select ${COLUMNS} from queue.job`

export const SELECT_JOBS = `${SELECT} where state < 'completed'`

export const CREATE_SAVED_JOBS = `create temporary table saved_jobs on commit drop as ${SELECT} with no data`

export const COPY_SAVED_JOBS = `copy saved_jobs (${COLUMNS}) from stdin`

/**
 * A job that ran when the backup was made is treated as one whose worker was lost: attempts are counted on from the
 * last one, so that two attempts never have the same number.
 */
const RESTORED: Record<string, string> = {
  ...Object.fromEntries(COLUMNS.split(/,\s+/).map((name) => [name, `saved.${name}`])),
  ...SETTINGS,
  state: "case when saved.state = 'active' then 'retry' else saved.state end",
  retry_limit: 'greatest(saved.retry_limit, q.retry_limit)',
  start_after: "case when saved.state = 'active' then queue.job_now() else saved.start_after end",
}

/** Removes the jobs that installing the queue created. Jobs with a name that this version does not know are skipped. */
export const RESTORE_JOBS = `
  delete from queue.job;
  insert into queue.job (${Object.keys(RESTORED).join(', ')})
  select ${Object.values(RESTORED).join(', ')}
  from saved_jobs saved join queue.queue q on q.name = saved.name`

export const UNKNOWN_JOBS = `
  select name, count(*)::int as jobs from saved_jobs
  where not exists (select from queue.queue q where q.name = saved_jobs.name) group by name order by name`
