import type pg from 'pg'

/** What has no foreign key that would be verified when it is created again (see migrations 0026 and 0027). */
const REFERENCES = [
  {
    what: 'runs of a pipeline that is not in the backup',
    orphans: `actions a where not exists (select from pipelines p
      where p.id = a.pipeline_id and p.environment_id = a.environment_id and p.operation = a.type)`,
  },
  {
    what: 'runs of a hook that is not in the backup',
    orphans: `actions a where hook_id is not null and not exists (select from hooks where id = a.hook_id)`,
  },
  {
    what: 'targets of a run that is not in the backup',
    orphans: 'targets t where not exists (select from actions where id = t.action_id)',
  },
  {
    what: 'targets on a server that is not in the backup',
    orphans: 'targets t where not exists (select from servers where id = t.server_id)',
  },
  {
    what: 'status changes of a target that is not in the backup',
    orphans: 'target_moves m where not exists (select from targets where id = m.target_id)',
  },
  {
    what: 'logs of a target that is not in the backup',
    orphans: 'step_log_chunks c where not exists (select from targets where id = c.target_id)',
  },
]

/** Throws unless everything that runs name exists, and so do the targets of moves and logs. */
export async function assertReferences(client: pg.Client): Promise<void> {
  for (const { what, orphans } of REFERENCES) {
    const { rows } = await client.query<{ count: string }>(`select count(*) from ${orphans}`)
    if (rows[0]!.count !== '0') throw new Error(`the backup has ${what} (${rows[0]!.count})`)
  }
}
