import { type Selectable, sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import type { Scope } from '#access/authorization/permissions.ts'
import { applicationBody } from '#manage/applications/schemas.ts'
import { isHealthStep } from '#manage/pipelines/health-step.ts'
import { type HookRow, hookSecretAad, selectHooks } from '#model/hooks/present-hook.ts'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import { presentHealthCheck } from '#model/pipelines/health-check.ts'
import { wholeRollout } from '#model/pipelines/rollout.ts'
import { loadSteps } from '#model/pipelines/steps.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { findRow, findRows } from '#platform/database/rows.ts'
import type { CredentialsTable, PipelinesTable, ServersTable, Tables } from '#platform/database/tables.ts'
import { nameApprovers } from './approvers.ts'
import {
  credentialPath,
  environmentPath,
  keyOf,
  ORGANIZATION,
  type PipelineName,
  PROJECT,
  pipelinePath,
  type Resource,
} from './resources.ts'
import { fieldsOf, type ResourceKind } from './schemas.ts'

export type Fields = Record<string, unknown>

/** A resource that exists, with the fields that the document would have. */
export type StoredResource = Resource & {
  id: number | string
  scope: Scope
  body: Readonly<Fields>
  /** The row behind it, for the rules of its room. */
  credential?: Selectable<CredentialsTable>
  server?: Selectable<ServersTable>
  hook?: HookRow
  builtIn?: boolean
  /** Its secret in plain text; undefined when it has none, or one that cannot be opened. */
  openSecret?: () => string | undefined
}

export type State = {
  resources: ReadonlyMap<string, StoredResource>
  /** Keys that several resources share. */
  duplicates: ReadonlySet<string>
  /** The names of the steps of each pipeline, in order, by the pipeline's key. */
  stepOrders: ReadonlyMap<string, string[]>
}

export type Organization = { id: number; name: string }

/** By name, or by slug; several when the name is ambiguous. Only those in which the caller has a role. */
export async function findOrganizations(db: Database, caller: Caller, name: string): Promise<Organization[]> {
  const ids = caller.grants.map((grant) => grant.organization_id)
  const rows = await db
    .selectFrom('organizations')
    .select(['id', 'name', 'url_slug'])
    .where(anyOf('id', ids))
    .where((eb) => eb.or([eb('name', '=', name), eb('url_slug', '=', name)]))
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  const bySlug = rows.filter((row) => row.url_slug === name)
  const byName = rows.filter((row) => row.name === name)
  if (byName.length <= 1) return byName.length === 1 ? byName : bySlug
  return bySlug.length === 1 ? bySlug : byName
}

/** Everything that a document about this project can describe, in a fixed number of statements. */
export async function loadState(
  db: Database,
  box: SecretBox,
  organization: Organization | undefined,
  projectName: string,
): Promise<State> {
  const state = new LoadedState(box)
  if (!organization) return state
  const scope = { organization_id: organization.id }
  state.add('organization', organization, { path: ORGANIZATION, scope }, {})
  const credentials = await db
    .selectFrom('credentials')
    .selectAll()
    .where('organization_id', '=', organization.id)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  for (const row of credentials)
    state.add('credential', row, { path: credentialPath(row.name), scope }, pick(row, CREDENTIAL_FIELDS), {
      credential: row,
      openSecret: state.opener(row.secret, credentialAad(row.id)),
    })
  const named = { organization_id: organization.id, name: projectName, deleted_at: null }
  const project = await findRow(db, 'projects', named, ['id', 'name', 'logo_url'])
  if (!project) return state
  const projectScope = { ...scope, project_id: project.id }
  state.add('project', project, { path: PROJECT, scope: projectScope }, pick(project, ['logo_url']))
  const environmentIds = await loadEnvironments(db, state, projectScope)
  await loadServersAndApplications(db, state, environmentIds)
  await loadPipelines(db, state, environmentIds)
  return state
}

async function loadEnvironments(db: Database, state: LoadedState, scope: Scope & { project_id: number }) {
  const inProject = { project_id: scope.project_id, deleted_at: null }
  const fields = ['type', 'description', 'retention', 'approval'] as const
  const rows = await findRows(db, 'environments', inProject, ['id', 'name', ...fields], { orderBy: 'id' })
  const approvals = await nameApprovers(
    db,
    rows.map(({ approval }) => approval),
  )
  for (const [index, row] of rows.entries()) {
    const at = { path: environmentPath(row.name), scope: { ...scope, environment_id: row.id } }
    state.add('environment', row, at, { ...pick(row, fields), approval: approvals[index] })
  }
  const ids = rows.map(({ id }) => id)
  await loadFreezes(db, state, ids)
  return ids
}

/** Only weekly ones: a document does not lift what was frozen for a day. */
async function loadFreezes(db: Database, state: LoadedState, ids: number[]): Promise<void> {
  const rows = await db
    .selectFrom('freezes')
    .select(['id', 'environment_id', 'name', 'reason', 'weekly', 'time_zone', 'when_over'])
    .where(anyOf('environment_id', ids))
    .where('weekly', 'is not', null)
    .orderBy('id')
    .execute()
  for (const row of rows)
    state.add(
      'freeze',
      row,
      state.below('environment', row.environment_id!, 'freezes', row.name),
      pick(row, ['reason', 'weekly', 'time_zone', 'when_over']),
    )
}

async function loadServersAndApplications(db: Database, state: LoadedState, ids: number[]): Promise<void> {
  for (const row of await inEnvironments(db, 'servers', ids)) {
    const at = state.below('environment', row.environment_id, 'servers', row.name)
    const body = {
      ...pick(row, ['provider_code', 'host', 'port', 'login_name']),
      credential: state.credentialName(row.credential_id),
      ...pick(row, ['host_key', 'root_directory', 'worker_name', 'max_parallel_actions']),
    }
    state.add('server', row, at, body, { server: row })
  }
  const links = await findRows(db, 'application_servers', { environment_id: ids }, [
    'application_id',
    'server_id',
  ])
  const linked = Map.groupBy(links, (link) => link.application_id)
  const applications = await inEnvironments(db, 'applications', ids)
  for (const row of applications) {
    const servers = (linked.get(row.id) ?? []).map((link) => state.find('server', link.server_id).name)
    state.add('application', row, state.below('environment', row.environment_id, 'applications', row.name), {
      ...pick(row, APPLICATION_FIELDS),
      health_check: presentHealthCheck(row.health_check),
      credential: state.credentialName(row.credential_id),
      servers: sorted(servers),
    })
  }
  const applicationIds = applications.map(({ id }) => id)
  const variables = await db
    .selectFrom('application_variables')
    .selectAll()
    .where(anyOf('application_id', applicationIds))
    .orderBy('id')
    .execute()
  for (const row of variables) {
    const at = state.below('application', row.application_id, 'variables', row.name)
    const openSecret = state.opener(row.value, variableAad(row.id))
    state.add('variable', row, at, { hidden: row.hidden }, { openSecret })
  }
}

async function loadPipelines(db: Database, state: LoadedState, environmentIds: number[]): Promise<void> {
  const pipelines = await inEnvironments(db, 'pipelines', environmentIds)
  const names = new Map(pipelines.map((row) => [row.id, state.pipelineName(row)]))
  const links = await findRows(db, 'pipeline_run_after', { environment_id: environmentIds }, [
    'pipeline_id',
    'after_pipeline_id',
  ])
  const after = Map.groupBy(links, (link) => link.pipeline_id)
  for (const row of pipelines) {
    const { scope, name } = state.find('environment', row.environment_id)
    const runAfter = (after.get(row.id) ?? []).flatMap((link) => names.get(link.after_pipeline_id) ?? [])
    state.add(
      'pipeline',
      row,
      { path: pipelinePath(name, names.get(row.id)!), scope },
      {
        ...pick(row, PIPELINE_FIELDS),
        rollout: wholeRollout(row.rollout),
        health_check: presentHealthCheck(row.health_check),
        run_after: sorted(runAfter),
      },
    )
  }
  const ids = pipelines.map(({ id }) => id)
  for (const row of await loadSteps(db, ids)) {
    // Follows from the health check.
    if (isHealthStep(row)) continue
    const at = state.below('pipeline', row.pipeline_id, 'steps', row.name)
    state.add('step', { id: row.stepKey, name: row.name }, at, pick(row, STEP_FIELDS), {
      builtIn: row.built_in,
    })
    const key = keyOf(at.path.slice(0, -2))
    state.stepOrders.set(key, [...(state.stepOrders.get(key) ?? []), row.name])
  }
  const hooks = await selectHooks(db)
    .where(anyOf('hooks.pipeline_id', ids))
    // Those that one document creates have the same time, and random ids.
    .orderBy('hooks.type')
    .orderBy('hooks.name')
    .orderBy('hooks.created_at')
    .orderBy('hooks.id')
    .execute()
  for (const row of hooks)
    state.add(
      'hook',
      row,
      state.below('pipeline', row.pipeline_id, 'hooks', row.type, row.name),
      {
        ...pick(row, ['active', 'action_type', ...HOOK_FIELDS[row.type]]),
        ...(row.type === 'incoming' && { connect: row.is_connected }),
        ...(row.type === 'outgoing' && { credential: state.credentialName(row.credential_id) }),
        ...pick(row, ['settings', 'trigger_when']),
        // That of a preset follows from it.
        ...(row.settings.preset !== undefined && { target_url: null }),
      },
      { hook: row, openSecret: state.opener(row.secret, hookSecretAad(row.id)) },
    )
}

async function inEnvironments<Table extends 'servers' | 'applications' | 'pipelines'>(
  db: Database,
  table: Table,
  ids: number[],
) {
  const { rows } = await sql<Selectable<Tables[Table]>>`
    select * from ${sql.table(table)} where ${anyOf('environment_id', ids)} and deleted_at is null order by id`.execute(
    db,
  )
  return rows
}

const CREDENTIAL_FIELDS = [
  ...(['provider_code', 'base_url', 'username', 'active'] as const),
  ...(['token_targets', 'ssh_hosts'] as const),
]
const APPLICATION_FIELDS = Object.keys(
  fieldsOf(applicationBody, 'name', 'credential_id', 'linked_resources'),
) as (keyof Selectable<Tables['applications']>)[]
const PIPELINE_FIELDS = [
  ...(['operation', 'max_parallel_actions', 'queue_policy'] as const),
  ...(['on_failure', 'wait_for_checks'] as const),
]
const STEP_FIELDS = [
  ...(['description', 'command', 'run_as_user', 'timeout_seconds'] as const),
  ...(['idempotent', 'irreversible', 'run_on_revert'] as const),
]
const HOOK_FIELDS = {
  incoming: ['requires_secret', 'secret_algorithm', 'secret_header_name'],
  outgoing: ['target_url', 'verify_ssl'],
} as const

function pick<Row extends object, Field extends keyof Row>(row: Row, fields: readonly Field[]): Fields {
  return Object.fromEntries(fields.map((field) => [field, row[field]]))
}

/** Compares equal whatever the order was. */
export function sorted<Value>(values: readonly Value[]): Value[] {
  return [...values].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

/** Rows are added from the outside in, so that each finds its parent. */
class LoadedState implements State {
  readonly resources = new Map<string, StoredResource>()
  readonly duplicates = new Set<string>()
  readonly stepOrders = new Map<string, string[]>()
  readonly #byId = new Map<string, StoredResource>()
  readonly #box: SecretBox

  constructor(box: SecretBox) {
    this.#box = box
  }

  add(
    type: ResourceKind,
    { id, name }: { id: number | string; name: string },
    { path, scope }: { path: readonly string[]; scope: Scope },
    body: Fields,
    more: Partial<StoredResource> = {},
  ): void {
    const resource: StoredResource = { type, id, name, path, scope, body, ...more }
    const key = keyOf(path)
    const isDuplicate = this.resources.has(key)
    if (isDuplicate) this.duplicates.add(key)
    this.resources.set(isDuplicate ? `${key} ${id}` : key, resource)
    this.#byId.set(`${type} ${id}`, resource)
  }

  find(type: ResourceKind, id: number): StoredResource {
    return this.#byId.get(`${type} ${id}`)!
  }

  /** The path and scope of something below a resource. */
  below(type: ResourceKind, id: number, ...names: string[]) {
    const { path, scope } = this.find(type, id)
    return { path: [...path, ...names], scope }
  }

  credentialName(id: number | null): string | null {
    return id === null ? null : (this.#byId.get(`credential ${id}`)?.name ?? null)
  }

  pipelineName({ resource_type, application_id, server_id, name }: Selectable<PipelinesTable>): PipelineName {
    return resource_type === 'application'
      ? { application: this.find('application', application_id!).name, pipeline: name }
      : { server: this.find('server', server_id!).name, pipeline: name }
  }

  opener(sealed: Buffer | null, aad: string) {
    if (sealed === null) return undefined
    return () => {
      try {
        return this.#box.open(sealed, aad)
      } catch {
        return undefined
      }
    }
  }
}
