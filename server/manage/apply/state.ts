import type { Selectable } from 'kysely'
import type { Scope } from '#access/authorization/permissions.ts'
import { type HookRow, hookSecretAad } from '#model/hooks/present-hook.ts'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import type { StepRow } from '#model/pipelines/steps.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type {
  ApplicationsTable,
  CredentialsTable,
  PipelinesTable,
  ServersTable,
} from '#platform/database/tables.ts'
import { credentialPath, keyOf, type PipelineName, pipelinePath, type Thing } from './things.ts'

// Rows → things in the words of the document.

/** Something that is there, in the words of the document. */
export type Stored = Thing & {
  id: number | string
  place: Scope
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

/** Compares equal whatever the order. */
export function inOrder<Value>(values: readonly Value[]): Value[] {
  return [...values].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

/** Rows come in from the outside in, so that each finds what it stands in. */
export class Collected {
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

  addCredential(row: Selectable<CredentialsTable>, place: Scope): void {
    const { id, name, provider_code, base_url, username, active } = row
    const body = { provider_code, base_url, username, active }
    const openSecret = this.#opener(row.secret, credentialAad(id))
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
    const openSecret = this.#opener(row.value, variableAad(id))
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

  addStep(row: StepRow): void {
    const { path, place } = this.#find('pipeline', row.pipeline_id)
    const { stepKey: id, name, description, command, run_as_user, timeout_seconds, idempotent } = row
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
    const openSecret = this.#opener(row.secret, hookSecretAad(id))
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
