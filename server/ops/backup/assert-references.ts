import type pg from 'pg'

/** What has no foreign key that would be verified when it is created again (see migrations 0026, 0027 and 0058). */
const ORPHANS = {
  'runs of a pipeline': `actions a where not exists (select from pipelines p
    where p.id = a.pipeline_id and p.environment_id = a.environment_id and p.operation = a.type)`,
  'runs of a hook': `actions a where hook_id is not null
    and not exists (select from hooks where id = a.hook_id)`,
  'targets of a run': 'targets t where not exists (select from actions where id = t.action_id)',
  'targets on a server': 'targets t where not exists (select from servers where id = t.server_id)',
  'requests to approve a run':
    'approval_requests r where not exists (select from actions where id = r.action_id)',
  'status changes of a target':
    'target_moves m where not exists (select from targets where id = m.target_id)',
  'logs of a target': 'step_log_chunks c where not exists (select from targets where id = c.target_id)',
}

/** Throws unless everything that runs name exists, and so does what requests, moves and logs belong to. */
export async function assertReferences(client: pg.Client): Promise<void> {
  for (const [what, orphans] of Object.entries(ORPHANS)) {
    const { rows } = await client.query<{ count: string }>(`select count(*) from ${orphans}`)
    const { count } = rows[0]!
    if (count !== '0') throw new Error(`the backup has ${what} that is not in the backup (${count})`)
  }
}
