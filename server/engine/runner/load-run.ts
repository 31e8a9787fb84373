import { sql } from 'kysely'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, Deployment } from '#platform/database/tables.ts'
import type { StepDefinition } from './step-definition.ts'

/** Everything that running a target takes, read once at the beginning of an attempt. */
export type Run = {
  /** Names this Gantry among all that may deploy to a server. */
  installation: string
  actionId: number
  targetId: number
  environmentId: number
  type: string
  environmentName: string
  hookVariables: Record<string, unknown>
  deployment: Deployment | null
  /** Of a deploy: what is known of its release so far. The step that gets it fills this in. */
  commit: Commit | null
  releaseName: string | null
  /** The release is on the server. */
  hasRelease: boolean
  /** And it was switched to. */
  isActivated: boolean
  /** It was there before this run: a rollback that needs nothing but a switch. */
  isRolledBack: boolean
  /** An earlier attempt may have begun to make it, so this one makes another. */
  isAnew: boolean
  server: ServerToReach
  steps: StepDefinition[]
  application: DeployedApplication | null
  /** What must not appear in a log. */
  secrets: string[]
}

export type ServerToReach = {
  id: number
  name: string
  kind: 'local' | 'ssh'
  host: string | null
  port: number | null
  loginName: string | null
  hostKey: string | null
  privateKey: string | null
  rootDirectory: string
}

export type DeployedApplication = {
  id: number
  name: string
  folder: string
  repository: string
  provider: { code: string; baseUrl: string | null } | null
  rootDirectory: string | null
  installCommand: string | null
  buildCommand: string | null
  sharedPaths: string[]
  deploymentsKeep: number
  variables: { name: string; value: string; hidden: boolean }[]
  access: { kind: 'token'; username: string | null; secret: string } | { kind: 'key'; secret: string } | null
}

type Row = {
  installation: string
  action_id: number
  environment_id: number
  type: string
  environment_name: string
  variables: Record<string, unknown>
  deployment: Deployment | null
  commit: Commit | null
  release_name: string | null
  target_release_name: string | null
  got_release: boolean
  activated: boolean
  server: Omit<ServerToReach, 'privateKey'> & { credentialId: number | null; secret: string | null }
  steps: StepDefinition[] | null
  step_count: number
  application:
    | (Omit<DeployedApplication, 'variables' | 'access' | 'provider'> & {
        credential: {
          id: number
          code: string
          base_url: string | null
          auth_type: string
          username: string | null
          secret: string | null
        } | null
        variables: { id: number; name: string; hidden: boolean; value: string }[]
      })
    | null
}

/** A secret was sealed with another key, say: trying again would not help. */
export type UnreadableRun = { kind: 'unreadable'; message: string }

export async function loadRun(db: Database, box: SecretBox, targetId: number): Promise<Run | UnreadableRun> {
  const { rows } = await sql<Row>`
    select (select left(encode(sha256(sealed), 'hex'), 12) from key_check) as installation,
      a.id as action_id, a.environment_id, a.type, e.name as environment_name,
      coalesce(a.variables, a.hook_parsed_variables) as variables, a.deployment, a.commit,
      coalesce(case when a.deployment ->> 'type' = 'rollback' then (
        select before.release_name from actions earlier join targets before on before.action_id = earlier.id
        where earlier.release_name = a.release_name and earlier.id < a.id and before.server_id = s.id
          and before.release_name is not null
        order by earlier.id desc limit 1) end, a.release_name) as release_name,
      t.release_name as target_release_name,
      jsonb_path_exists(t.steps, '$[*] ? (@.name == "get-new-release" && @.status == "completed")') as got_release,
      jsonb_path_exists(t.steps, '$[*] ? (@.name == "activate-new-release" && @.status == "completed")') as activated,
      json_build_object('id', s.id, 'name', s.name, 'kind', s.provider_code, 'host', s.host, 'port', s.port,
        'loginName', s.login_name, 'hostKey', s.host_key, 'rootDirectory', s.root_directory,
        'credentialId', key.id, 'secret', encode(key.secret, 'hex')) as server,
      (select json_agg(json_build_object('order', (step ->> 'order')::int, 'name', p.name, 'builtIn', p.built_in,
          'command', p.command, 'runAsUser', p.run_as_user, 'timeoutSeconds', p.timeout_seconds,
          'idempotent', p.idempotent) order by (step ->> 'order')::int)
        from jsonb_array_elements(t.steps) as step join pipeline_steps p on p.id = (step ->> 'step_id')::bigint
      ) as steps,
      jsonb_array_length(t.steps) as step_count,
      case when app.id is not null then json_build_object('id', app.id, 'name', app.name, 'folder', app.folder,
        'repository', app.repository, 'rootDirectory', app.root_directory,
        'installCommand', app.install_dependencies_command, 'buildCommand', app.build_command,
        'sharedPaths', app.shared_paths, 'deploymentsKeep', app.deployments_keep,
        'credential', case when token.id is not null then json_build_object('id', token.id,
          'code', token.provider_code, 'base_url', token.base_url, 'auth_type', token.auth_type, 'username', token.username, 'secret', encode(token.secret, 'hex')) end,
        'variables', coalesce((select json_agg(json_build_object('id', v.id, 'name', v.name, 'hidden', v.hidden,
          'value', encode(v.value, 'hex'))) from application_variables v where v.application_id = app.id), '[]')
      ) end as application
    from targets t
    join actions a on a.id = t.action_id
    join environments e on e.id = a.environment_id
    join pipelines on pipelines.id = a.pipeline_id
    join servers s on s.id = t.server_id
    left join credentials key on key.id = s.credential_id and key.active
    left join applications app on app.id = pipelines.application_id
    left join credentials token on token.id = app.credential_id and token.active
    where t.id = ${targetId}`.execute(db)
  try {
    return toRun(rows[0]!, box, targetId)
  } catch {
    return {
      kind: 'unreadable',
      message:
        'The run cannot be prepared: a secret that it needs was sealed with another key, or something is gone.',
    }
  }
}

function toRun(row: Row, box: SecretBox, targetId: number): Run {
  if (row.steps?.length !== row.step_count) throw new Error('Steps of the run are gone.')
  const open = (hex: string, place: string) => box.open(Buffer.from(hex, 'hex'), place)
  const server = openServer(row.server, open)
  const application = row.application && openApplication(row.application, open)
  const isRollback = row.deployment?.type === 'rollback'
  return {
    installation: row.installation,
    actionId: row.action_id,
    targetId,
    environmentId: row.environment_id,
    type: row.type,
    environmentName: row.environment_name,
    hookVariables: row.variables,
    deployment: row.deployment,
    commit: row.commit,
    releaseName: row.target_release_name ?? row.release_name,
    hasRelease: row.got_release,
    isActivated: row.activated,
    isRolledBack: isRollback && row.got_release && row.target_release_name === null,
    isAnew: isRollback || row.target_release_name !== null,
    server,
    steps: row.steps,
    application,
    secrets: [
      ...(server.privateKey ? [server.privateKey] : []),
      ...(application?.access ? [application.access.secret] : []),
      ...(application?.variables.filter(({ hidden }) => hidden).map(({ value }) => value) ?? []),
    ],
  }
}

type Open = (hex: string, place: string) => string

function openServer({ credentialId, secret, ...server }: Row['server'], open: Open): ServerToReach {
  return { ...server, privateKey: secret && open(secret, credentialAad(credentialId!)) }
}

function openApplication(
  { credential, variables, ...application }: NonNullable<Row['application']>,
  open: Open,
): DeployedApplication {
  return {
    ...application,
    provider: credential && { code: credential.code, baseUrl: credential.base_url },
    access: credential?.secret
      ? {
          kind: credential.auth_type === 'key' ? 'key' : 'token',
          username: credential.username,
          secret: open(credential.secret, credentialAad(credential.id)),
        }
      : null,
    variables: variables.map(({ id, name, hidden, value }) => ({
      name,
      hidden,
      value: open(value, variableAad(id)),
    })),
  }
}
