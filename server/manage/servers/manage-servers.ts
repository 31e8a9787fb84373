// The servers room: the machines that pipelines run on. People create, change and remove them here; checking
// whether one can be reached is in run-check.ts.
import { sql } from 'kysely'
import { auditorOf, type Change, type Creation, type Removal, type Requester } from '#access/audit/record.ts'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import { authorizeUse } from '#manage/credentials/credential-use.ts'
import {
  checkCascade,
  checkDependents,
  checkUnfinished,
  hooksOf,
  lockAgainstRuns,
  pipelinesOf,
  removePipelines,
} from '#manage/pipelines/remove-pipelines.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { type LockedEnvironment, lockEnvironment, lockForChange } from '#model/pipelines/lock-environment.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import { sharedName } from '#model/workers/placement.ts'
import type { SshVerdict } from '#platform/addresses/ssh-guard.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRows, insertRow, NOW, updateRow } from '#platform/database/rows.ts'
import { GONE, type HttpProblem } from '#platform/http/problems.ts'
import { judgeDestination } from './host-rules.ts'
import { type NormalizedServer, normalizeServer, SERVER_FIELDS, usesKeyAnew } from './normalize-server.ts'
import { findServer, type ServerRow } from './read-servers.ts'
import type { ServerBody, ServerChange } from './schemas.ts'

/** Whether this machine can be a server, and the result of `checkHost`, which is too slow for a transaction. */
type Checks = { refuseLocal: RefuseLocal; host: SshVerdict | undefined }

export const auditServer = auditorOf<ServerRow>('server', [...SERVER_FIELDS, 'allow_loopback'])

export async function createServer(trx: Transaction, request: Creation<ServerBody> & Checks) {
  const { parentId: environmentId, body, caller } = request
  const scope = await lockEnvironment(trx, environmentId)
  if (!scope) return GONE
  const normalized = normalizeServer(await withDefaultWorker(trx, body))
  const { problem, allow_loopback } = await checkServer(trx, request, scope, normalized)
  if (problem) return problem
  const created = { environment_id: environmentId, created_by: caller.id }
  const id = await insertRow(trx, 'servers', { ...normalized.columns, allow_loopback, ...created })
  return auditServer.saved(trx, request, scope.organization_id, null, await findServer(trx, id))
}

export async function changeServer(trx: Transaction, request: Change<ServerChange> & Checks) {
  const { id, body, ifMatch } = request
  const held = await lockForChange(trx, 'servers', id, findServer, ifMatch)
  if (held.kind !== 'locked') return held
  const { scope, row: before } = held
  const normalized = normalizeServer(body, before)
  const { problem, allow_loopback } = await checkServer(trx, request, scope, normalized, before)
  if (problem) return problem
  await updateRow(trx, 'servers', id, { ...normalized.columns, allow_loopback })
  return auditServer.saved(trx, request, scope.organization_id, before, await findServer(trx, id))
}

/** A local server is the machine of the workers that are online, as long as they are on one. */
async function withDefaultWorker(trx: Transaction, input: ServerBody): Promise<ServerBody> {
  if (input.provider_code !== 'local' || input.worker_name !== undefined) return input
  return { ...input, worker_name: sharedName(await readLiveWorkers(trx)) }
}

/** With the embedded database, the only worker has no name. */
async function refuseWorker(trx: Transaction): Promise<string[] | undefined> {
  const workers = await readLiveWorkers(trx)
  const isEmbedded = workers.length > 0 && workers.every(({ name }) => name === null)
  return isEmbedded ? ['is not used with the embedded database, which has one worker'] : undefined
}

/** What the caller may not see or do comes first, then everything that is wrong with the input. */
async function checkServer(
  trx: Transaction,
  { caller, refuseLocal, host }: Pick<Requester, 'caller'> & Checks,
  scope: LockedEnvironment,
  { columns, errors }: NormalizedServer,
  stored?: ServerRow,
): Promise<{ problem?: HttpProblem; allow_loopback: boolean }> {
  const isInstanceAdmin = caller.is_instance_admin
  const judged = judgeDestination(columns, stored, host, { isInstanceAdmin })
  const refuse = (problem: HttpProblem) => ({ problem, allow_loopback: false })
  if (columns.provider_code === 'local' && !isInstanceAdmin) {
    return refuse({ kind: 'forbidden', reason: 'Only instance administrators can set up local servers.' })
  }
  if (columns.provider_code === 'local' && columns.root_directory !== stored?.root_directory) {
    const refused = errors.root_directory ? undefined : await refuseLocal(columns.root_directory)
    Object.assign(errors, refused)
  }
  if (columns.worker_name !== null && columns.worker_name !== stored?.worker_name) {
    const refused = await refuseWorker(trx)
    if (refused) errors.worker_name ??= refused
  }
  if (usesKeyAnew(columns, stored)) {
    const use = await authorizeUse(trx, caller, scope.organization_id, columns.credential_id!)
    if (use.kind === 'invalid') Object.assign(errors, use.errors)
    else if (use.kind !== 'usable') return refuse(use)
    else if (use.credential.provider_code !== 'ssh') errors.credential_id = ['must be an SSH key']
  }
  const { name } = columns
  if (name !== stored?.name && (await isNameTaken(trx, 'servers', scope.environment_id, name, stored?.id))) {
    errors.name = ['is taken by another server of this environment']
  }
  for (const [field, messages] of Object.entries(judged.errors)) errors[field] ??= messages
  return Object.keys(errors).length > 0
    ? refuse({ kind: 'invalid', errors })
    : { allow_loopback: judged.allowLoopback }
}

/** The row stays, because runs reference it. `cascade` also removes its pipelines and unlinks its applications. */
export async function removeServer(trx: Transaction, request: Removal) {
  const { id, caller, actor, cascade, ifMatch } = request
  const held = await lockForChange(trx, 'servers', id, findServer, ifMatch)
  if (held.kind !== 'locked') return held
  const { scope, row: server } = held
  const applications = await findRows(trx, 'applications', { id: server.application_ids }, ['name'], {
    orderBy: 'name',
  })
  const pipelines = await pipelinesOf(trx, 'server_id', [id])
  const pipelineIds = pipelines.map((pipeline) => pipeline.id)
  const hooks = await hooksOf(trx, pipelineIds)
  const problem = cascade
    ? checkCascade(caller, scope, { 'pipeline:remove': pipelines, 'hook:remove': hooks })
    : checkDependents('The server', {
        applications: ['application', applications],
        pipelines: ['pipeline', pipelines],
      })
  if (problem) return problem
  const deploying = await pipelinesOf(trx, 'application_id', server.application_ids)
  await lockAgainstRuns(
    trx,
    [...pipelines, ...deploying].map((pipeline) => pipeline.id),
  )
  // By way of the pipelines: their unfinished actions are few, and found by an index.
  const unfinished = await checkUnfinished(
    trx,
    sql`a.pipeline_id in (select id from pipelines where environment_id = ${scope.environment_id})
      and exists (select from targets t where t.action_id = a.id and t.server_id = ${id})`,
  )
  if (unfinished) return unfinished

  await removePipelines(trx, actor, scope.organization_id, pipelineIds)
  await trx.deleteFrom('application_servers').where('server_id', '=', id).execute()
  await updateRow(trx, 'servers', id, { deleted_at: NOW })
  return auditServer.removed(trx, request, scope.organization_id, server)
}
