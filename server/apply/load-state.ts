import type { Selectable } from 'kysely'
import type { Caller } from '#access/caller.ts'
import type { Place } from '#access/permissions.ts'
import type { SecretBox } from '#crypto/secret-box.ts'
import { anyOf, byId } from '#database/any-of.ts'
import type { Database } from '#database/connect.ts'
import type { ApplicationsTable, CredentialsTable, PipelinesTable, ServersTable } from '#database/tables.ts'
import { type HookRow, secretPlace, selectHooks } from '#hooks/present-hook.ts'
import { credentialPlace, variablePlace } from '#inventory/secret-places.ts'
import { loadSteps } from '#pipelines/load-steps.ts'
import {
  credentialPath,
  environmentPath,
  keyOf,
  ORGANIZATION,
  type PipelineName,
  PROJECT,
  pipelinePath,
  type Thing,
} from './things.ts'

/** Something that is there, in the words of the document. */
export type Stored = Thing & {
  id: number | string
  place: Place
  body: Readonly<Record<string, unknown>>
  /** The rows behind it, for the rules of its room. */
  credential?: Selectable<CredentialsTable>
  server?: Selectable<ServersTable>
  hook?: HookRow
  builtIn?: boolean
  /** Its secret as text; undefined when it has none, or one that cannot be opened. */
  openSecret?: () => string | undefined
}

export type State = {
  things: ReadonlyMap<string, Stored>
  /** Things of which several have one name. */
  twins: ReadonlySet<string>
  /** The names of the steps of each pipeline, in their order, by the pipeline's key. */
  stepOrders: ReadonlyMap<string, string[]>
}

export type Organization = { id: number; name: string; url_slug: string }

/** By name, or by slug; several when the name alone does not tell. Only those in which the caller has a role. */
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

/** Everything that a document about this project can speak of: a handful of statements, however much there is. */
export async function loadState(
  db: Database,
  box: SecretBox,
  organization: Organization | undefined,
  projectName: string,
): Promise<State> {
  const collected = new Collected(box)
  if (!organization) return collected.state
  const place = { organization_id: organization.id }
  collected.add({
    type: 'organization',
    path: ORGANIZATION,
    ...organization,
    place,
    body: {},
  })
  const credentials = await db
    .selectFrom('credentials')
    .selectAll()
    .where('organization_id', '=', organization.id)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  for (const row of credentials) collected.addCredential(row, place)
  const project = await db
    .selectFrom('projects')
    .select(['id', 'name', 'logo_url'])
    .where('organization_id', '=', organization.id)
    .where('name', '=', projectName)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!project) return collected.state
  const { id, name, logo_url } = project
  const inProject = { ...place, project_id: id }
  collected.add({ type: 'project', name, path: PROJECT, id, place: inProject, body: { logo_url } })
  await loadEnvironments(db, collected, inProject)
  return collected.state
}

async function loadEnvironments(
  db: Database,
  collected: Collected,
  place: Place & { project_id: number },
): Promise<void> {
  const environments = await db
    .selectFrom('environments')
    .select(['id', 'name', 'type', 'description'])
    .where('project_id', '=', place.project_id)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute()
  const ids = environments.map(({ id }) => id)
  for (const { id, name, type, description } of environments) {
    const path = environmentPath(name)
    const body = { type, description }
    collected.add({ type: 'environment', name, path, id, place: { ...place, environment_id: id }, body })
  }
  const servers = await inEnvironments(db, 'servers', ids)
  for (const row of servers as Selectable<ServersTable>[]) collected.addServer(row)
  const links = await db
    .selectFrom('application_servers')
    .select(['application_id', 'server_id'])
    .where(anyOf('environment_id', ids))
    .execute()
  const linked = Map.groupBy(links, (link) => link.application_id)
  const applications = (await inEnvironments(db, 'applications', ids)) as Selectable<ApplicationsTable>[]
  for (const row of applications)
    collected.addApplication(
      row,
      (linked.get(row.id) ?? []).map((link) => link.server_id),
    )
  const variables = await db
    .selectFrom('application_variables')
    .selectAll()
    .where(
      anyOf(
        'application_id',
        applications.map(({ id }) => id),
      ),
    )
    .orderBy('id')
    .execute()
  for (const row of variables) collected.addVariable(row)
  await loadPipelines(db, collected, ids)
}

async function loadPipelines(db: Database, collected: Collected, environmentIds: number[]): Promise<void> {
  const pipelines = (await inEnvironments(db, 'pipelines', environmentIds)) as Selectable<PipelinesTable>[]
  const names = new Map(pipelines.map((row) => [row.id, collected.nameOf(row)]))
  const links = await db
    .selectFrom('pipeline_run_after')
    .select(['pipeline_id', 'after_pipeline_id'])
    .where(anyOf('environment_id', environmentIds))
    .execute()
  const after = Map.groupBy(links, (link) => link.pipeline_id)
  for (const row of pipelines) {
    const wanted = (after.get(row.id) ?? []).flatMap((link) => names.get(link.after_pipeline_id) ?? [])
    collected.addPipeline(row, wanted)
  }
  const ids = [...byId(pipelines).keys()]
  for (const row of await loadSteps(db, ids)) collected.addStep(row)
  const hooks = await selectHooks(db)
    .where(anyOf('hooks.pipeline_id', ids))
    .orderBy('hooks.created_at')
    .orderBy('hooks.id')
    .execute()
  for (const row of hooks) collected.addHook(row)
}

function inEnvironments(db: Database, table: 'servers' | 'applications' | 'pipelines', ids: number[]) {
  return db
    .selectFrom(table as 'servers')
    .selectAll()
    .where(anyOf('environment_id', ids))
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute() as Promise<unknown[]>
}

/** Compares equal whatever the order. */
export function inOrder<Value>(values: readonly Value[]): Value[] {
  return [...values].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

/** Rows come in from the outside in, so that each finds what it stands in. */
class Collected {
  readonly #box: SecretBox
  readonly #things = new Map<string, Stored>()
  readonly #twins = new Set<string>()
  readonly #stepOrders = new Map<string, string[]>()
  /** What a row id of each type stands for. */
  readonly #byId = new Map<string, Stored>()

  constructor(box: SecretBox) {
    this.#box = box
  }

  get state(): State {
    return { things: this.#things, twins: this.#twins, stepOrders: this.#stepOrders }
  }

  add(thing: Stored): void {
    const key = keyOf(thing.path)
    const isTwin = this.#things.has(key)
    if (isTwin) this.#twins.add(key)
    this.#things.set(isTwin ? `${key} ${thing.id}` : key, thing)
    this.#byId.set(`${thing.type} ${thing.id}`, thing)
  }

  addCredential(row: Selectable<CredentialsTable>, place: Place): void {
    const { id, name, provider_code, base_url, username, active } = row
    const body = { provider_code, base_url, username, active }
    const openSecret = this.#opener(row.secret, credentialPlace(id))
    this.add({
      type: 'credential',
      name,
      path: credentialPath(name),
      id,
      place,
      body,
      credential: row,
      openSecret,
    })
  }

  addServer(row: Selectable<ServersTable>): void {
    const { path, place } = this.#find('environment', row.environment_id)
    const {
      id,
      name,
      provider_code,
      host,
      port,
      login_name,
      host_key,
      root_directory,
      max_parallel_actions,
    } = row
    const credential = this.#credentialName(row.credential_id)
    const own = {
      provider_code,
      host,
      port,
      login_name,
      credential,
      host_key,
      root_directory,
      max_parallel_actions,
    }
    this.add({ type: 'server', name, path: [...path, 'servers', name], id, place, body: own, server: row })
  }

  addApplication(row: Selectable<ApplicationsTable>, serverIds: readonly number[]): void {
    const { path, place } = this.#find('environment', row.environment_id)
    const { id, name } = row
    const body = {
      repository: row.repository,
      default_branch: row.default_branch,
      programming_language: row.programming_language,
      engine_version: row.engine_version,
      framework: row.framework,
      root_directory: row.root_directory,
      install_dependencies_command: row.install_dependencies_command,
      build_command: row.build_command,
      shared_paths: row.shared_paths,
      deployments_keep: row.deployments_keep,
      credential: this.#credentialName(row.credential_id),
      servers: inOrder(serverIds.map((serverId) => this.#find('server', serverId).name)),
    }
    this.add({ type: 'application', name, path: [...path, 'applications', name], id, place, body })
  }

  addVariable(row: {
    id: number
    application_id: number
    name: string
    value: Buffer
    hidden: boolean
  }): void {
    const { path, place } = this.#find('application', row.application_id)
    const { id, name, hidden } = row
    const openSecret = this.#opener(row.value, variablePlace(id))
    this.add({
      type: 'variable',
      name,
      path: [...path, 'variables', name],
      id,
      place,
      body: { hidden },
      openSecret,
    })
  }

  addPipeline(row: Selectable<PipelinesTable>, runAfter: readonly PipelineName[]): void {
    const { place, name: environment } = this.#find('environment', row.environment_id)
    const { id, name, operation, max_parallel_actions, queue_policy, rollout } = row
    const own = { operation, max_parallel_actions, queue_policy, rollout, run_after: inOrder(runAfter) }
    this.add({
      type: 'pipeline',
      name,
      path: pipelinePath(environment, this.nameOf(row)),
      id,
      place,
      body: own,
    })
  }

  addStep(row: Awaited<ReturnType<typeof loadSteps>>[number]): void {
    const { path, place } = this.#find('pipeline', row.pipeline_id)
    const { known_as: id, name, description, command, run_as_user, timeout_seconds, idempotent } = row
    const body = { description, command, run_as_user, timeout_seconds, idempotent }
    this.add({ type: 'step', name, path: [...path, 'steps', name], id, place, body, builtIn: row.built_in })
    const key = keyOf(path)
    this.#stepOrders.set(key, [...(this.#stepOrders.get(key) ?? []), name])
  }

  addHook(row: HookRow): void {
    const { path, place } = this.#find('pipeline', row.pipeline_id)
    const { id, name, type, active, settings, trigger_when } = row
    const own =
      type === 'incoming'
        ? {
            requires_secret: row.requires_secret,
            secret_algorithm: row.secret_algorithm,
            secret_header_name: row.secret_header_name,
          }
        : { target_url: row.target_url, verify_ssl: row.verify_ssl }
    const body = { active, action_type: row.action_type, ...own, settings, trigger_when }
    const openSecret = this.#opener(row.secret, secretPlace(id))
    this.add({
      type: 'hook',
      name,
      path: [...path, 'hooks', type, name],
      id,
      place,
      body,
      hook: row,
      openSecret,
    })
  }

  nameOf({ resource_type, application_id, server_id, name }: Selectable<PipelinesTable>): PipelineName {
    return resource_type === 'application'
      ? { application: this.#find('application', application_id!).name, pipeline: name }
      : { server: this.#find('server', server_id!).name, pipeline: name }
  }

  #find(type: string, id: number): Stored {
    return this.#byId.get(`${type} ${id}`)!
  }

  #credentialName(id: number | null): string | null {
    return id === null ? null : (this.#byId.get(`credential ${id}`)?.name ?? null)
  }

  #opener(sealed: Buffer | null, place: string) {
    if (sealed === null) return undefined
    return () => {
      try {
        return this.#box.open(sealed, place)
      } catch {
        return undefined
      }
    }
  }
}
