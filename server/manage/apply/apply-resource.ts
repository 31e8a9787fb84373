import type { Actor } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import {
  changeApplication,
  createApplication,
  removeApplication,
} from '#manage/applications/manage-applications.ts'
import { changeVariable, createVariable, removeVariable } from '#manage/applications/variables.ts'
import { changeCredential, createCredential } from '#manage/credentials/manage-credentials.ts'
import type { HookChange } from '#manage/hooks/hook-columns.ts'
import { auditHook, changeHook, createHook, type NewHook, removeHook } from '#manage/hooks/manage-hooks.ts'
import {
  changeEnvironment,
  createEnvironment,
  removeEnvironment,
} from '#manage/organizations/manage-environments.ts'
import { createOrganization } from '#manage/organizations/manage-organizations.ts'
import { changeProject, createProject } from '#manage/organizations/manage-projects.ts'
import { changePipeline, createPipeline } from '#manage/pipelines/manage-pipelines.ts'
import { changeStep, createStep, removeStep } from '#manage/pipelines/manage-steps.ts'
import { removePipeline } from '#manage/pipelines/remove-pipelines.ts'
import { changeServer, createServer, removeServer } from '#manage/servers/manage-servers.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import { loadSteps } from '#model/pipelines/steps.ts'
import type { SshVerdict } from '#platform/addresses/ssh-guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { changedFields, type PlannedChange, type Upsert } from './plan.ts'
import {
  type Bodies,
  credentialPath,
  hostKind,
  keyOf,
  ORGANIZATION,
  type PipelineName,
  PROJECT,
  parentPath,
  pipelinePath,
  type Resource,
} from './resources.ts'
import type { ResourceKind } from './schemas.ts'
import type { StoredResource } from './stored-state.ts'

export type ApplyContext = {
  trx: Transaction
  caller: Caller
  actor: Actor
  box: SecretBox
  refuseLocal: RefuseLocal
  /** Where the installation allows tokens to go. */
  tokenTargets: TokenTargets
  /** The ids of all existing resources by key; new ones are added. */
  ids: Map<string, number | string>
  /** What is wrong with the URLs that an outgoing hook is to call. */
  checkReceiver: (change: Upsert) => Promise<ErrorsByField | undefined>
  /** What is known about the host that a server is to have. */
  checkHost: (change: Upsert) => Promise<SshVerdict | undefined>
  /** Reports a hook that was created, or that got a new secret. */
  onHook: (hook: { path: readonly string[]; row: HookRow; secret: string | null; isNew: boolean }) => void
}

/** Carries out one change through the room that owns the resource. Returns the id of the resource. */
export function applyChange(context: ApplyContext, change: PlannedChange): Promise<Applied> {
  return change.verb === 'delete'
    ? remove(context, change.stored)
    : save(context, change.desired.type, change)
}

type Applied = { kind: 'done'; id: number | string } | HttpProblem

async function save<Kind extends ResourceKind>(
  context: ApplyContext,
  type: Kind,
  change: Upsert<Kind>,
): Promise<Applied> {
  const handler: Handler<Kind> = HANDLERS[type]
  const outcome = await (change.verb === 'create'
    ? handler.create(context, change)
    : handler.update(context, change, Number(change.stored?.id ?? 0)))
  if (outcome.kind !== 'done') return outcome
  return { kind: 'done', id: 'step' in outcome.row ? outcome.row.step.id : outcome.row.id }
}

async function remove(context: ApplyContext, stored: StoredResource): Promise<Applied> {
  const handler = HANDLERS[stored.type]
  if (!handler.remove) throw new Error(`a document never removes a resource of the kind ${stored.type}`)
  const outcome = await handler.remove(context, stored, Number(stored.id))
  return outcome.kind === 'removed' ? { kind: 'done', id: stored.id } : outcome
}

type Saved = { kind: 'done'; row: { id: number | string } | { step: { id: number } } } | HttpProblem

type Handler<Kind extends ResourceKind> = {
  create(context: ApplyContext, change: Upsert<Kind>): Promise<Saved>
  update(context: ApplyContext, change: Upsert<Kind>, id: number): Promise<Saved>
  remove?(
    context: ApplyContext,
    stored: StoredResource,
    id: number,
  ): Promise<{ kind: 'removed' } | HttpProblem>
}

const CASCADE = { cascade: true }

const HANDLERS: { [Kind in ResourceKind]: Handler<Kind> } = {
  organization: {
    create: (by, { desired: { name } }) => createOrganization(by.trx, by, { name }),
    update: async (_by, _change, id) => ({ kind: 'done', row: { id } }),
  },
  project: {
    create: (by, { desired: { name, body } }) =>
      createProject(by.trx, by, idAt(by, ORGANIZATION), { name, ...body }),
    update: (by, { desired: { body } }, id) => changeProject(by.trx, by, id, body),
  },
  credential: {
    create: (by, { desired: { name, body } }) =>
      createCredential(by.trx, by, idAt(by, ORGANIZATION), { name, ...body }),
    update(by, { desired }, id) {
      const { generate: _, ...body } = desired.body
      // The response lists what it stops, and so does that of a dry run.
      return changeCredential(by.trx, by, id, body, { stopHooks: true })
    },
  },
  environment: {
    create: (by, { desired: { name, body } }) =>
      createEnvironment(by.trx, by, idAt(by, PROJECT), { name, type: 'development', ...body }),
    update: (by, { desired: { body } }, id) => changeEnvironment(by.trx, by, id, body),
    remove: (by, _stored, id) => removeEnvironment(by.trx, by, id, CASCADE),
  },
  server: {
    async create(by, change) {
      const { name, path, body } = change.desired
      const { credential, ...fields } = body
      const input = { name, ...fields, ...credentialId(by, credential) }
      return createServer(by.trx, by, idAt(by, path.slice(0, 2)), input, await by.checkHost(change))
    },
    async update(by, change, id) {
      const { credential, ...fields } = changedFields(change)
      const input = { ...fields, ...credentialId(by, credential) }
      return changeServer(by.trx, by, id, input, await by.checkHost(change))
    },
    remove: (by, _stored, id) => removeServer(by.trx, by, id, CASCADE),
  },
  application: {
    create(by, { desired: { name, path, body } }) {
      const input = { name, ...applicationInput(by, path, body) }
      return createApplication(by.trx, by, idAt(by, path.slice(0, 2)), input)
    },
    update(by, change, id) {
      const input = applicationInput(by, change.desired.path, changedFields(change))
      return changeApplication(by.trx, by, id, input)
    },
    remove: (by, _stored, id) => removeApplication(by.trx, by, id, CASCADE),
  },
  variable: {
    create: (by, { desired }) =>
      createVariable(by.trx, by, parentId(by, desired), { name: desired.name, ...desired.body }),
    update: (by, { desired }, id) => changeVariable(by.trx, by, parentId(by, desired), id, desired.body),
    remove: (by, stored, id) => removeVariable(by.trx, by, parentId(by, stored), id),
  },
  pipeline: {
    create(by, { desired }) {
      const { name, path, body } = desired
      const host = { type: hostKind(path), id: parentId(by, desired) }
      return createPipeline(by.trx, by, host, { name, ...pipelineInput(by, path, body) })
    },
    update(by, change, id) {
      const input = pipelineInput(by, change.desired.path, changedFields(change))
      return changePipeline(by.trx, by, id, input)
    },
    remove: (by, _stored, id) => removePipeline(by.trx, by, id, CASCADE),
  },
  step: {
    create(by, { desired, after }) {
      const { command = '', ...body } = desired.body
      const input = { name: desired.name, command, ...body, trigger_after: after }
      return createStep(by.trx, by, parentId(by, desired), input)
    },
    async update(by, change, id) {
      const { desired, stored, after } = change
      const pipelineId = parentId(by, desired)
      const stepId = stored ? id : await findBuiltIn(by, pipelineId, desired.name)
      const { trigger_after: _, ...fields } = changedFields(change)
      const input = { ...fields, ...(after !== undefined && { trigger_after: after }) }
      return changeStep(by.trx, by, pipelineId, stepId, input)
    },
    remove: (by, stored, id) => removeStep(by.trx, by, parentId(by, stored), id),
  },
  hook: {
    async create(by, change) {
      const { desired } = change
      const { name, body, path } = desired
      const deps = { ...by, receiver: await by.checkReceiver(change) }
      const input = { type: path.at(-2), body: { name, ...hookInput(by, body) } } as NewHook
      const outcome = await createHook(by.trx, deps, parentId(by, desired), input)
      // A secret that the document gives is not returned.
      const isGiven = 'secret' in body && body.secret !== undefined
      if (outcome.kind === 'done')
        by.onHook({ path, row: outcome.row, secret: isGiven ? null : (outcome.secret ?? null), isNew: true })
      return outcome
    },
    async update(by, change) {
      const { path } = change.desired
      const deps = { ...by, receiver: await by.checkReceiver(change) }
      const input = { type: path.at(-2), body: hookInput(by, changedFields(change)) } as HookChange
      const outcome = await changeHook(by.trx, deps, String(change.stored!.id), input)
      if (outcome.kind === 'done' && outcome.secret !== undefined)
        by.onHook({ path, row: outcome.row, secret: outcome.secret, isNew: false })
      return outcome
    },
    async remove(by, { hook }) {
      await removeHook(by.trx, hook!.type, hook!.id)
      await auditHook(by.trx, by.actor, 'removed', hook!, null)
      return { kind: 'removed' }
    },
  },
}

function idAt({ ids }: ApplyContext, path: readonly string[]): number {
  return Number(ids.get(keyOf(path)))
}

function parentId(by: ApplyContext, resource: Resource): number {
  return idAt(by, parentPath(resource)!)
}

function credentialId(by: ApplyContext, name: string | null | undefined) {
  if (name === undefined) return {}
  return { credential_id: name === null ? null : idAt(by, credentialPath(name)) }
}

function hookInput(by: ApplyContext, body: Bodies['hook']) {
  if (!('credential' in body)) return body
  const { credential, ...fields } = body
  return { ...fields, ...credentialId(by, credential) }
}

function applicationInput(by: ApplyContext, path: readonly string[], body: Bodies['application']) {
  const { credential, servers, ...fields } = body
  const linked_resources = servers?.map((name) => ({
    resource_type: 'server' as const,
    resource_id: idAt(by, [...path.slice(0, 2), 'servers', name]),
  }))
  return { ...fields, ...credentialId(by, credential), ...(linked_resources && { linked_resources }) }
}

function pipelineInput(by: ApplyContext, path: readonly string[], body: Bodies['pipeline']) {
  const { run_after, ...fields } = body
  const idOf = (name: PipelineName) => idAt(by, pipelinePath(path[1]!, name))
  return { ...fields, ...(run_after && { run_after: run_after.map(idOf) }) }
}

async function findBuiltIn({ trx }: ApplyContext, pipelineId: number, name: string): Promise<number> {
  const steps = await loadSteps(trx, [pipelineId])
  return steps.find((step) => step.built_in && step.name === name)?.stepKey ?? 0
}
