import type { Transaction } from 'kysely'
import type { Actor } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import {
  changeApplication,
  createApplication,
  removeApplication,
} from '#manage/applications/manage-applications.ts'
import { changeVariable, createVariable, removeVariable } from '#manage/applications/variables.ts'
import { changeCredential, createCredential } from '#manage/credentials/manage-credentials.ts'
import { auditHook, removeHook } from '#manage/hooks/manage-hooks.ts'
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
import { loadSteps } from '#model/pipelines/steps.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Tables } from '#platform/database/tables.ts'
import { type Performed, removed, stored } from './performed.ts'
import type { Task } from './plan.ts'
import type { Stored } from './state.ts'
import {
  credentialPath,
  keyOf,
  ORGANIZATION,
  type PipelineName,
  PROJECT,
  pipelinePath,
  resourceOf,
  type Wanted,
} from './things.ts'

export type Performing = {
  caller: Caller
  actor: Actor
  box: SecretBox
  /** The ids of everything that is there, by its key; what is made is added. */
  ids: Map<string, number | string>
}

/** Does one task, through the room whose thing it is. Hooks have a file of their own. */
export function perform(trx: Transaction<Tables>, by: Performing, task: Task): Promise<Performed> {
  if (task.verb === 'delete') return remove(trx, by, task.stored)
  return task.verb === 'create' ? create(trx, by, task) : change(trx, by, task)
}

type Create = Extract<Task, { verb: 'create' }>
type Change = Extract<Task, { verb: 'change' }>

async function create(
  trx: Transaction<Tables>,
  by: Performing,
  { wanted, after }: Create,
): Promise<Performed> {
  const { caller } = by
  const { name } = wanted
  switch (wanted.type) {
    case 'organization':
      return stored(await createOrganization(trx, by, caller, { name }))
    case 'project':
      return stored(await createProject(trx, by, caller, idAt(by, ORGANIZATION), { name, ...wanted.body }))
    case 'credential':
      return stored(await createCredential(trx, by, caller, idAt(by, ORGANIZATION), { name, ...wanted.body }))
    case 'environment':
      return stored(
        await createEnvironment(trx, by, idAt(by, PROJECT), { name, type: 'development', ...wanted.body }),
      )
    case 'server': {
      const { credential, ...body } = wanted.body
      const wish = { name, ...body, ...credentialId(by, credential) }
      return stored(await createServer(trx, by, caller, environmentId(by, wanted), wish))
    }
    case 'application':
      return stored(
        await createApplication(trx, by, caller, environmentId(by, wanted), {
          name,
          ...applicationWish(by, wanted),
        }),
      )
    case 'variable':
      return stored(await createVariable(trx, by, caller, parentId(by, wanted), { name, ...wanted.body }))
    case 'pipeline': {
      const resource = { type: resourceOf(wanted.path), id: parentId(by, wanted) }
      return stored(await createPipeline(trx, by, caller, resource, { name, ...pipelineWish(by, wanted) }))
    }
    case 'step': {
      const { command = '', ...body } = wanted.body
      const outcome = await createStep(trx, by, caller, parentId(by, wanted), {
        name,
        command,
        ...body,
        trigger_after: after,
      })
      return outcome.kind === 'done' ? { kind: 'done', id: outcome.row.step.id } : outcome
    }
    case 'hook':
      throw new Error('hooks are stored elsewhere')
  }
}

async function change(trx: Transaction<Tables>, by: Performing, task: Change): Promise<Performed> {
  const { caller } = by
  const { wanted } = task
  const id = Number(task.stored?.id ?? 0)
  switch (wanted.type) {
    case 'organization':
      return { kind: 'done', id }
    case 'project':
      return stored(await changeProject(trx, by, id, wanted.body))
    case 'credential': {
      const { generate: _, ...wish } = wanted.body
      return stored(await changeCredential(trx, by, caller, id, wish))
    }
    case 'environment':
      return stored(await changeEnvironment(trx, by, id, wanted.body))
    case 'server': {
      const { credential, ...body } = changedFields(task, wanted.body)
      return stored(await changeServer(trx, by, caller, id, { ...body, ...credentialId(by, credential) }))
    }
    case 'application': {
      const body = changedFields(task, wanted.body)
      return stored(await changeApplication(trx, by, caller, id, applicationWish(by, { ...wanted, body })))
    }
    case 'variable':
      return stored(await changeVariable(trx, by, caller, parentId(by, wanted), id, wanted.body))
    case 'pipeline': {
      const body = changedFields(task, wanted.body)
      return stored(await changePipeline(trx, by, caller, id, pipelineWish(by, { ...wanted, body })))
    }
    case 'step': {
      const pipelineId = parentId(by, wanted)
      const stepId = task.stored ? id : await findBuiltIn(trx, pipelineId, wanted.name)
      const { trigger_after: _, ...content } = changedFields(task, wanted.body)
      const wish = { ...content, ...(task.after !== undefined && { trigger_after: task.after }) }
      const outcome = await changeStep(trx, by, caller, pipelineId, stepId, wish)
      return outcome.kind === 'done' ? { kind: 'done', id: outcome.row.step.id } : outcome
    }
    case 'hook':
      throw new Error('hooks are stored elsewhere')
  }
}

async function remove(trx: Transaction<Tables>, by: Performing, thing: Stored): Promise<Performed> {
  const { caller } = by
  const id = Number(thing.id)
  const everything = { cascade: true }
  switch (thing.type) {
    case 'environment':
      return removed(thing, await removeEnvironment(trx, by, caller, id, everything))
    case 'server':
      return removed(thing, await removeServer(trx, by, caller, id, everything))
    case 'application':
      return removed(thing, await removeApplication(trx, by, caller, id, everything))
    case 'variable':
      return removed(thing, await removeVariable(trx, by, caller, parentId(by, thing), id))
    case 'pipeline':
      return removed(thing, await removePipeline(trx, by, caller, id, everything))
    case 'step':
      return removed(thing, await removeStep(trx, by, caller, parentId(by, thing), id))
    case 'hook':
      await removeHook(trx, thing.hook!.type, thing.hook!.id)
      await auditHook(trx, by.actor, 'removed', thing.hook!, null)
      return { kind: 'done', id: thing.id }
    default:
      throw new Error(`${thing.type}s are never removed by a document`)
  }
}

/** In a change, what stays as it is is not said again. */
function changedFields<Body extends object>({ fields }: Change, body: Body): Body {
  const changed = new Set(fields.map(({ field }) => field))
  return Object.fromEntries(Object.entries(body).filter(([field]) => changed.has(field))) as Body
}

function idAt({ ids }: Performing, path: readonly string[]): number {
  return Number(ids.get(keyOf(path)))
}

const environmentId = (by: Performing, { path }: { path: readonly string[] }) => idAt(by, path.slice(0, 2))
const parentId = (by: Performing, { path }: { path: readonly string[] }) => idAt(by, path.slice(0, -2))

function credentialId(by: Performing, name: string | null | undefined) {
  if (name === undefined) return {}
  return { credential_id: name === null ? null : idAt(by, credentialPath(name)) }
}

function applicationWish(by: Performing, { path, body }: Extract<Wanted, { type: 'application' }>) {
  const { credential, servers, ...fields } = body
  const environment = path.slice(0, 2)
  const linked_resources = servers?.map((name) => ({
    resource_type: 'server' as const,
    resource_id: idAt(by, [...environment, 'servers', name]),
  }))
  return { ...fields, ...credentialId(by, credential), ...(linked_resources && { linked_resources }) }
}

function pipelineWish(by: Performing, { path, body }: Extract<Wanted, { type: 'pipeline' }>) {
  const { run_after, ...fields } = body
  const idOf = (name: PipelineName) => idAt(by, pipelinePath(path[1]!, name))
  return { ...fields, ...(run_after && { run_after: run_after.map(idOf) }) }
}

async function findBuiltIn(trx: Transaction<Tables>, pipelineId: number, name: string): Promise<number> {
  const steps = await loadSteps(trx, [pipelineId])
  return steps.find((step) => step.built_in && step.name === name)?.stepKey ?? 0
}
