import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/** What an approval covers besides the commits: what the run would do, and where. Values of variables are not shown. */
export type Covered = {
  servers: {
    name: string
    host: string | null
    port: number | null
    login: string | null
    root_directory: string
    batch: number
  }[]
  /** In order. Built-in steps have no command of their own. */
  steps: { name: string; command: string | null; run_as_user: string | null; health_check: object | null }[]
  application: {
    repository: string
    folder: string
    install_dependencies_command: string | null
    build_command: string | null
    shared_paths: string[]
  } | null
  /** Their names. */
  variables: string[]
  rollout: object | null
  on_failure: string
}

export async function readCovered(db: Database, actionId: number): Promise<Covered> {
  const { rows } = await sql<Covered>`
    select p.rollout, p.on_failure, coalesce((
        select json_agg(json_build_object('name', s.name, 'host', s.host, 'port', s.port, 'login', s.login_name,
          'root_directory', coalesce(app.root_directory, s.root_directory), 'batch', t.batch) order by t.position)
        from targets t join servers s on s.id = t.server_id where t.action_id = a.id), '[]') as servers,
      coalesce((
        select json_agg(json_build_object('name', step.name, 'command', step.command, 'run_as_user', step.run_as_user,
          'health_check', step.health_check) order by used.place)
        from (
          select (one ->> 'step_id')::bigint as id, min((one ->> 'order')::int) as place
          from targets t cross join lateral jsonb_array_elements(t.steps) as one
          where t.action_id = a.id and one ->> 'step_id' is not null group by 1
        ) as used join pipeline_steps step on step.id = used.id), '[]') as steps,
      case when app.id is not null then json_build_object('repository', app.repository, 'folder', app.folder,
        'install_dependencies_command', app.install_dependencies_command, 'build_command', app.build_command,
        'shared_paths', app.shared_paths) end as application,
      array(select v.name from application_variables v where v.application_id = app.id order by v.name) as variables
    from actions a join pipelines p on p.id = a.pipeline_id
    left join applications app on app.id = p.application_id
    where a.id = ${actionId}`.execute(db)
  return rows[0]!
}
