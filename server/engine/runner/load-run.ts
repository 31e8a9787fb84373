import { sql } from 'kysely'
import type { ServerAddress } from '#adapters/executors/connect.ts'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import { REVERT_RELEASE } from '#model/pipelines/built-in-steps.ts'
import { revertsAll } from '#model/pipelines/reverts-all.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, Deployment, HealthCheck, LiveBefore } from '#platform/database/tables.ts'

/** A step as it was when the run was planned. */
export type StepDefinition = {
  order: number
  name: string
  builtIn: boolean
  /** Null for built-in steps. */
  command: string | null
  runAsUser: string | null
  timeoutSeconds: number
  idempotent: boolean
  /** Only of `check-health`. */
  healthCheck: HealthCheck | null
}

type Row = {
  /** Identifies this Gantry among all that may deploy to a server. */
  installation: string
  actionId: number
  environmentName: string
  hookVariables: Record<string, unknown>
  deployment: Deployment | null
  /** Of a deploy: what is known of its release so far. The step that gets it fills this in. */
  commit: Commit | null
  releaseName: string | null
  targetReleaseName: string | null
  /** The release is on the server. */
  hasRelease: boolean
  isActivated: boolean
  /** `rollout.on_failure: revert_all`: what is done may still be reverted. */
  revertsAll: boolean
  /** What was live before this target activated its release. The step that does so fills it in. */
  liveBefore: LiveBefore | null
  server: Omit<ServerAddress, 'privateKey'> & {
    id: number
    credentialId: number | null
    secret: string | null
  }
  steps: StepDefinition[] | null
  stepCount: number
  /** The order of `revert-release`; null unless the target reverts. */
  revertOrder: number | null
  application: ApplicationRow | null
}

type ApplicationRow = {
  id: number
  name: string
  folder: string
  repository: string
  rootDirectory: string | null
  installCommand: string | null
  buildCommand: string | null
  sharedPaths: string[]
  deploymentsKeep: number
  submodules: 'fetch' | 'ignore'
  credential: {
    id: number
    code: string
    base_url: string | null
    auth_type: string
    username: string | null
    secret: string | null
  } | null
  variables: { id: number; name: string; hidden: boolean; value: string }[]
}

/** How long reverting may take. */
const REVERT_SECONDS = 600

/** Everything that running a target takes, read once when an attempt begins. */
export type Run = ReturnType<typeof toRun>

/** A secret was sealed with another key, for example: a retry would not help. */
export type UnreadableRun = { kind: 'unreadable'; message: string }

export async function loadRun(db: Database, box: SecretBox, targetId: number): Promise<Run | UnreadableRun> {
  const { rows } = await sql<Row>`
    select (select installation from key_check) as installation,
      a.id as "actionId", e.name as "environmentName", a.deployment, a.commit,
      coalesce(a.variables, a.hook_parsed_variables) as "hookVariables",
      coalesce(t.release_name, case when a.deployment ->> 'type' = 'rollback' then (
        select before.release_name from actions earlier join targets before on before.action_id = earlier.id
        where earlier.release_name = a.release_name and earlier.id < a.id and before.server_id = s.id
          and before.release_name is not null
        order by earlier.id desc limit 1) end, a.release_name) as "releaseName",
      t.release_name as "targetReleaseName", t.live_before as "liveBefore",
      jsonb_path_exists(t.steps, '$[*] ? (@.name == "get-new-release" && @.status == "completed")') as "hasRelease",
      t.live_before is not null or jsonb_path_exists(t.steps,
        '$[*] ? (@.name == "activate-new-release" && @.status == "completed")') as "isActivated",
      ${revertsAll('a', 'pipelines')} as "revertsAll",
      json_build_object('id', s.id, 'name', s.name, 'kind', s.provider_code, 'host', s.host, 'port', s.port,
        'loginName', s.login_name, 'hostKey', s.host_key, 'allowLoopback', s.allow_loopback, 'rootDirectory', s.root_directory,
        'credentialId', key.id, 'secret', encode(key.secret, 'hex')) as server,
      (select json_agg(json_build_object('order', (step ->> 'order')::int, 'name', p.name, 'builtIn', p.built_in,
          'command', p.command, 'runAsUser', p.run_as_user, 'timeoutSeconds', p.timeout_seconds,
          'idempotent', p.idempotent, 'healthCheck', p.health_check) order by (step ->> 'order')::int)
        from jsonb_array_elements(t.steps) as step
        join pipeline_steps p on p.pipeline_id = a.pipeline_id and p.id = (step ->> 'step_id')::bigint
      ) as steps,
      (jsonb_path_query_first(t.steps, '$[*] ? (@.step_id == null)') ->> 'order')::int as "revertOrder",
      jsonb_array_length(t.steps) as "stepCount",
      case when app.id is not null then json_build_object('id', app.id, 'name', app.name, 'folder', app.folder,
        'repository', app.repository, 'rootDirectory', app.root_directory,
        'installCommand', app.install_dependencies_command, 'buildCommand', app.build_command,
        'sharedPaths', app.shared_paths, 'deploymentsKeep', app.deployments_keep, 'submodules', app.submodules,
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
        'Cannot prepare the run: a secret that it needs was encrypted with another key, or a step was deleted.',
    }
  }
}

function toRun({ stepCount, targetReleaseName, ...row }: Row, box: SecretBox, targetId: number) {
  const steps = withRevert(row.steps ?? [], row.revertOrder)
  if (steps.length !== stepCount) throw new Error('Steps of the run are missing.')
  const open: Open = (hex, aad) => box.open(Buffer.from(hex, 'hex'), aad)
  const { credentialId, secret, ...address } = row.server
  const server = {
    ...address,
    credentialId,
    privateKey: secret && open(secret, credentialAad(credentialId!)),
  }
  const application = row.application && openApplication(row.application, open)
  const isRollback = row.deployment?.type === 'rollback'
  const hidden = application?.variables.filter((variable) => variable.hidden) ?? []
  const { token, sshKey } = application ?? {}
  const secrets = [server.privateKey, token?.secret, sshKey, ...hidden.map(({ value }) => value)]
  return {
    ...row,
    targetId,
    /** Of what is stored as live on the server, as of just before a command reads or switches it (model/live). */
    liveVersion: '',
    /** The release was there before this run: a rollback that only switches to it. */
    isRolledBack: isRollback && row.hasRelease && targetReleaseName === null,
    /** An earlier attempt may have started to build the release, so this one builds another. */
    needsNewRelease: isRollback || targetReleaseName !== null,
    server,
    steps,
    application,
    /** What must not appear in a log. */
    secrets: secrets.filter((secret) => secret != null),
  }
}

/** No pipeline has this step, so that it is not among the stored ones. */
function withRevert(steps: readonly StepDefinition[], order: number | null): StepDefinition[] {
  if (order === null) return [...steps]
  const { name } = REVERT_RELEASE
  const none = { command: null, runAsUser: null, healthCheck: null }
  const step = { order, name, builtIn: true, timeoutSeconds: REVERT_SECONDS, idempotent: true, ...none }
  return [...steps, step].sort((one, other) => one.order - other.order)
}

/**
 * The run as the steps after `revert-release` see it: in the folder of the release that it went back to. That has a source
 * of its own.
 */
export function afterRevert(run: Run): Run {
  const { release, commit_sha } = run.liveBefore!
  const commit = commit_sha === null ? null : ({ hash: commit_sha } as Commit)
  const deployment = run.deployment && { ...run.deployment, source_type: null, source_ref: null }
  return { ...run, releaseName: release, commit, deployment }
}

type Open = (hex: string, aad: string) => string

function openApplication({ credential, variables, ...application }: ApplicationRow, open: Open) {
  const secret = credential?.secret ? open(credential.secret, credentialAad(credential.id)) : null
  const isKey = credential?.auth_type === 'key'
  return {
    ...application,
    provider: credential && { code: credential.code, baseUrl: credential.base_url },
    /** How to log in to the repository: a token, or an SSH key. */
    token: secret && !isKey ? { secret, username: credential!.username } : null,
    sshKey: isKey ? secret : null,
    variables: variables.map(({ id, value, ...variable }) => ({
      ...variable,
      value: open(value, variableAad(id)),
    })),
  }
}
