import { createHash, createHmac } from 'node:crypto'
import { sql } from 'kysely'
import { STAMP } from '#model/gates/approval-sql.ts'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { LiveByServer } from '#platform/database/tables.ts'

// What an approval covers, as one hash: people send it with their decision, and Gantry compares it before anything starts.

export type SubjectFacts = {
  actionId: number
  /** Of the same moment; see approval-sql.ts. */
  stamp: string
  salt: string
  /** Commit, targets with their servers and step versions, rollout, commands and paths. */
  plain: object
  /** By name. They are hashed with a key that no one is shown. */
  runVariables: Record<string, unknown>
  variables: { id: number; name: string; hidden: boolean; value: string }[]
}

/** By run; those that were never at the gate are left out. */
export async function loadSubjectFacts(
  db: Database,
  actionIds: readonly number[],
): Promise<Map<number, SubjectFacts>> {
  const { rows } = await sql<SubjectFacts>`
    select a.id as "actionId", ${STAMP} as stamp, r.salt, coalesce(a.variables, a.hook_parsed_variables) as "runVariables",
      jsonb_build_object('commit', a.commit ->> 'hash',
        'release', case when a.deployment ->> 'type' = 'rollback' then a.release_name end,
        'rollout', p.rollout, 'on_failure', p.on_failure,
        'targets', (
          select jsonb_agg(jsonb_build_object('batch', t.batch, 'server', s.id, 'kind', s.provider_code, 'host', s.host,
            'port', s.port, 'login', s.login_name, 'root', s.root_directory, 'worker', s.worker_name,
            'steps', jsonb_path_query_array(t.steps, '$[*].step_id ? (@ != null)')) order by t.position)
          from targets t join servers s on s.id = t.server_id where t.action_id = a.id),
        'application', case when app.id is not null then jsonb_build_object('folder', app.folder,
          'repository', app.repository, 'root', app.root_directory, 'install', app.install_dependencies_command,
          'build', app.build_command, 'shared', app.shared_paths, 'submodules', app.submodules) end) as plain,
      coalesce((select json_agg(json_build_object('id', v.id, 'name', v.name, 'hidden', v.hidden,
          'value', encode(v.value, 'hex')) order by v.name)
        from application_variables v where v.application_id = app.id), '[]') as variables
    from actions a
    join approval_requests r on r.action_id = a.id
    join pipelines p on p.id = a.pipeline_id
    left join applications app on app.id = p.application_id
    where a.id = any(${actionIds}::bigint[])`.execute(db)
  return new Map(rows.map((facts) => [facts.actionId, facts]))
}

/** Throws when a variable was sealed with another key. */
export function subjectOf(facts: SubjectFacts, live: LiveByServer, box: SecretBox): string {
  const keyed = (value: string) => createHmac('sha256', facts.salt).update(value).digest('base64')
  const variables = facts.variables.map(({ id, name, hidden, value }) => [
    ...[name, hidden],
    keyed(box.open(Buffer.from(value, 'hex'), variableAad(id))),
  ])
  const given = Object.entries(facts.runVariables).map(([name, value]) => [
    name,
    keyed(JSON.stringify(value)),
  ])
  const commits = Object.entries(live).map(([server, one]) => [
    server,
    one === null || one === 'unknown' ? one : (one.commit ?? one.release),
  ])
  const covered = JSON.stringify([facts.salt, facts.plain, variables, given, commits])
  return createHash('sha256').update(covered).digest('hex')
}
