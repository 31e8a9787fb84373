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
import { changeFreeze, createEnvironmentFreeze, removeFreeze } from '#manage/freezes/manage-freezes.ts'
import type { HookChange } from '#manage/hooks/hook-columns.ts'
import { changeHook, createHook, type NewHook, removeHookOf } from '#manage/hooks/manage-hooks.ts'
import {
  changeEnvironment,
  createEnvironment,
  removeEnvironment,
} from '#manage/organizations/manage-environments.ts'
import { changeOrganization, createOrganization } from '#manage/organizations/manage-organizations.ts'
import { changeProject, createProject } from '#manage/organizations/manage-projects.ts'
import { changePipeline, createPipeline } from '#manage/pipelines/manage-pipelines.ts'
import { changeStep, createStep, removeStep } from '#manage/pipelines/manage-steps.ts'
import { removePipeline } from '#manage/pipelines/remove-pipelines.ts'
import { changeServer, createServer, removeServer } from '#manage/servers/manage-servers.ts'
import type { ApprovalInput } from '#model/gates/approval-terms.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import { loadSteps } from '#model/pipelines/steps.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { TokenTargets } from '#platform/database/tables.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { resolveApprovers } from './approvers.ts'
import type { AddressChecks } from './check-addresses.ts'
import { changedFields, type PlannedChange, type Upsert } from './plan.ts'
import {
  type Bodies,
  credentialPath,
  hostKind,
  keyOf,
  ORGANIZATION,
  type PipelineName,
  parentPath,
  pipelinePath,
  type Resource,
} from './resources.ts'
import type { OutgoingEntry, ResourceKind } from './schemas.ts'
import type { StoredResource } from './stored-state.ts'

/** A hook that was created, or that got a secret, which is shown only now. */
export type SavedHook = {
  path: readonly string[]
  row: HookRow
  secret: string | null
  /** The response that creates a hook shows its URL. */
  showsUrl: boolean
}

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
  addresses: AddressChecks
  onHook: (hook: SavedHook) => void
}

type Applied = { kind: 'done'; id: number | string } | HttpProblem

/** Carries out one change through the room that owns the resource. Returns the id of the resource. */
export async function applyChange(context: ApplyContext, change: PlannedChange): Promise<Applied> {
  if (change.verb !== 'delete') return save(context, change.desired.type, change)
  const { stored } = change
  const { remove } = HANDLERS[stored.type]
  if (!remove) throw new Error(`a document never removes a resource of the kind ${stored.type}`)
  const request = { ...context, parentId: parentId(context, stored), id: Number(stored.id), stored }
  const outcome = await remove(context.trx, { ...request, cascade: true })
  return outcome.kind === 'removed' ? { kind: 'done', id: stored.id } : outcome
}

async function save<Kind extends ResourceKind>(
  context: ApplyContext,
  type: Kind,
  upsert: Upsert<Kind>,
): Promise<Applied> {
  const handler: Handler<Kind> = HANDLERS[type]
  const { desired, stored, verb } = upsert
  const ids = { parentId: parentId(context, desired), id: Number(stored?.id ?? 0) }
  const request = { ...context, ...ids, upsert, stopHooks: true as const }
  const outcome = await (verb === 'create'
    ? handler.create(context.trx, { ...request, body: { name: desired.name, ...desired.body } })
    : handler.change(context.trx, {
        ...request,
        body: handler.sendsAll ? desired.body : changedFields(upsert),
      }))
  if (outcome.kind !== 'done') return outcome
  return { kind: 'done', id: 'step' in outcome.row ? outcome.row.step.id : outcome.row.id }
}

type Saved = { kind: 'done'; row: { id: number | string } | { step: { id: number } } } | HttpProblem

/** `stopHooks`: the response lists what a credential stops, and so does that of a dry run. */
type Request<Kind extends ResourceKind, Body = Bodies[Kind]> = ApplyContext & {
  parentId: number
  id: number
  upsert: Upsert<Kind>
  body: Body
  stopHooks: true
}

type Handler<Kind extends ResourceKind> = {
  create(trx: Transaction, request: Request<Kind, Bodies[Kind] & { name: string }>): Promise<Saved>
  change(trx: Transaction, request: Request<Kind>): Promise<Saved>
  /** A change sends every field, not only those that differ. */
  sendsAll?: true
  remove?(
    trx: Transaction,
    request: ApplyContext & { parentId: number; id: number; stored: StoredResource; cascade: true },
  ): Promise<{ kind: 'removed' } | HttpProblem>
}

/** What a document names by email addresses and names, the room takes by ids. */
async function withApprovers<Body extends Bodies['environment']>(
  trx: Transaction,
  { ids, body }: Request<'environment', Body>,
  at: { environmentId: number } | { projectId: number },
  save: (body: Omit<Body, 'approval'> & { approval?: ApprovalInput | null }) => Promise<Saved>,
): Promise<Saved> {
  const { approval, ...rest } = body
  if (!approval) return save({ ...rest, approval })
  const organizationId = Number(ids.get(keyOf(ORGANIZATION)))
  const resolved = await resolveApprovers(trx, approval, { organizationId, ...at })
  return resolved.kind === 'resolved' ? save({ ...rest, approval: resolved.approval }) : resolved
}

const HANDLERS: { [Kind in ResourceKind]: Handler<Kind> } = {
  organization: { create: createOrganization, change: changeOrganization },
  project: { create: createProject, change: changeProject },
  credential: {
    sendsAll: true,
    create: createCredential,
    change: (trx, { body: { generate: _, ...body }, ...request }) =>
      changeCredential(trx, { ...request, body }),
  },
  environment: {
    create: (trx, request) =>
      withApprovers(trx, request, { projectId: request.parentId }, (body) =>
        createEnvironment(trx, { ...request, body: { type: 'development', ...body } }),
      ),
    change: (trx, request) =>
      withApprovers(trx, request, { environmentId: request.id }, (body) =>
        changeEnvironment(trx, { ...request, body }),
      ),
    remove: removeEnvironment,
  },
  // Times are checked together.
  freeze: { sendsAll: true, create: createEnvironmentFreeze, change: changeFreeze, remove: removeFreeze },
  server: {
    async create(trx, request) {
      const host = await request.addresses.ofServer(request.upsert)
      return createServer(trx, { ...request, body: withCredential(request, request.body), host })
    },
    async change(trx, request) {
      const host = await request.addresses.ofServer(request.upsert)
      return changeServer(trx, { ...request, body: withCredential(request, request.body), host })
    },
    remove: removeServer,
  },
  application: {
    create: (trx, request) => createApplication(trx, { ...request, body: withLinks(request) }),
    change: (trx, request) => changeApplication(trx, { ...request, body: withLinks(request) }),
    remove: removeApplication,
  },
  variable: { sendsAll: true, create: createVariable, change: changeVariable, remove: removeVariable },
  pipeline: {
    create: (trx, request) =>
      createPipeline(trx, hostKind(request.upsert.desired.path), { ...request, body: withRunAfter(request) }),
    change: (trx, request) => changePipeline(trx, { ...request, body: withRunAfter(request) }),
    remove: removePipeline,
  },
  step: {
    create: (trx, request) =>
      createStep(trx, {
        ...request,
        body: { command: '', ...request.body, trigger_after: request.upsert.after },
      }),
    async change(trx, { upsert, body: { trigger_after: _, ...fields }, ...request }) {
      const { desired, stored, after } = upsert
      const id = stored ? request.id : await findBuiltIn(trx, request.parentId, desired.name)
      const body = { ...fields, ...(after !== undefined && { trigger_after: after }) }
      return changeStep(trx, { ...request, id, body })
    },
    remove: removeStep,
  },
  hook: {
    async create(trx, { parentId, upsert, body, ...by }) {
      const { path } = upsert.desired
      const deps = { ...by, receiver: await by.addresses.ofHook(upsert) }
      const input = { type: path.at(-2), body: withCredential(by, body as Partial<OutgoingEntry>) } as NewHook
      const outcome = await createHook(trx, deps, parentId, input)
      // A secret that the document gives is not returned.
      const isGiven = 'secret' in body && body.secret !== undefined
      if (outcome.kind === 'done')
        by.onHook({
          path,
          row: outcome.row,
          secret: isGiven ? null : (outcome.secret ?? null),
          showsUrl: true,
        })
      return outcome
    },
    async change(trx, { upsert, body, ...by }) {
      const { path } = upsert.desired
      const deps = { ...by, id: String(upsert.stored!.id), receiver: await by.addresses.ofHook(upsert) }
      const input = {
        type: path.at(-2),
        body: withCredential(by, body as Partial<OutgoingEntry>),
      } as HookChange
      const outcome = await changeHook(trx, deps, input)
      if (outcome.kind === 'done' && outcome.secret !== undefined)
        by.onHook({ path, row: outcome.row, secret: outcome.secret, showsUrl: false })
      return outcome
    },
    remove: (trx, { stored: { hook }, ...by }) => removeHookOf(trx, hook!.type, { ...by, id: hook!.id }),
  },
}

function idAt({ ids }: ApplyContext, path: readonly string[]): number {
  return Number(ids.get(keyOf(path)))
}

/** An organization has none. */
function parentId(by: ApplyContext, resource: Resource): number {
  const path = parentPath(resource)
  return path ? idAt(by, path) : 0
}

// The fields that name other resources, with their ids instead.

function withCredential<Body extends { credential?: string | null }>(by: ApplyContext, body: Body) {
  const { credential, ...fields } = body
  if (credential === undefined) return fields
  return { ...fields, credential_id: credential && idAt(by, credentialPath(credential)) }
}

function withLinks<Body extends Bodies['application']>(request: Request<'application', Body>) {
  const { servers, ...body } = request.body
  const environment = request.upsert.desired.path.slice(0, 2)
  const linked_resources = servers?.map((name) => ({
    resource_type: 'server' as const,
    resource_id: idAt(request, [...environment, 'servers', name]),
  }))
  return { ...withCredential(request, body), linked_resources }
}

function withRunAfter<Body extends Bodies['pipeline']>(request: Request<'pipeline', Body>) {
  const { run_after, ...fields } = request.body
  const idOf = (name: PipelineName) => idAt(request, pipelinePath(request.upsert.desired.path[1]!, name))
  return { ...fields, run_after: run_after?.map(idOf) }
}

async function findBuiltIn(trx: Transaction, pipelineId: number, name: string): Promise<number> {
  const steps = await loadSteps(trx, [pipelineId])
  return steps.find((step) => step.built_in && step.name === name)?.stepKey ?? 0
}
