// The applications room: what is deployed, the servers that it is deployed to (manage-links.ts), and the
// variables that its commands get (variables.ts).
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { auditorOf, type Change, type Creation, type Removal, recordAudit } from '#access/audit/record.ts'
import { slugify } from '#client/slug.ts'
import { checkHealthStepFits, syncHealthSteps } from '#manage/pipelines/health-step.ts'
import {
  checkCascade,
  checkDependents,
  checkUnfinished,
  hooksOf,
  lockAgainstRuns,
  pipelinesOf,
  removePipelines,
} from '#manage/pipelines/remove-pipelines.ts'
import { storePresetUrls } from '#model/hooks/preset-urls.ts'
import { checkLocalAccess } from '#model/inventory/local-servers.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { healthCheckColumn, normalizeHealthCheck } from '#model/pipelines/health-check.ts'
import { type LockedEnvironment, lockEnvironment, lockForChange } from '#model/pipelines/lock-environment.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRows, insertRow, NOW, updateRow } from '#platform/database/rows.ts'
import { GONE, type HttpProblem, REMOVED } from '#platform/http/problems.ts'
import { checkLinks, storeLinks } from './manage-links.ts'
import { type ApplicationRow, findApplication } from './read-applications.ts'
import type { ApplicationBody, ApplicationChange } from './schemas.ts'
import {
  checkHookTokens,
  checkSourceAccess,
  resolveSource,
  type SourceInput,
  validateApplication,
} from './validate-application.ts'

const auditApplication = auditorOf<ApplicationRow>('application', (row) => {
  const { id, project_id, environment_id, live_action_id, created_by, created_at, updated_at, ...rest } = row
  const { deleted_at, row_version, ...shown } = rest
  return shown
})

export async function createApplication(trx: Transaction, request: Creation<ApplicationBody>) {
  const { parentId: environmentId, body: input, caller } = request
  const scope = await lockEnvironment(trx, environmentId)
  if (!scope) return GONE
  const resolved = await resolveSource(trx, caller, scope, input)
  if ('kind' in resolved) return resolved
  const { linked_resources = [], health_check, ...columns } = input
  const check = healthCheckColumn(health_check)
  const wanted = linked_resources.map(({ resource_id }) => resource_id)
  const problem =
    (await checkLinks(trx, caller, scope, { applicationId: null, current: [], wanted })) ??
    checkSourceAccess(caller, resolved.source) ??
    (await checkFields(trx, scope, input, resolved.source))
  if (problem) return problem
  if (check.kind === 'invalid') return check

  const id = await insertRow(trx, 'applications', {
    ...columns,
    health_check: check.value,
    default_branch: input.default_branch ?? 'main',
    project_id: scope.project_id,
    environment_id: environmentId,
    folder: await freeFolder(trx, environmentId, input.name),
    created_by: caller.id,
  })
  await storeLinks(trx, scope, id, wanted)
  return auditApplication.saved(trx, request, scope.organization_id, null, await findApplication(trx, id))
}

export async function changeApplication(trx: Transaction, request: Change<ApplicationChange>) {
  const { id, body: input, caller, ifMatch } = request
  const held = await lockForChange(trx, 'applications', id, findApplication, ifMatch)
  if (held.kind !== 'locked') return held
  const { scope, row: before } = held
  const resolved = await resolveSource(trx, caller, scope, input, before)
  if ('kind' in resolved) return resolved
  const denied = resolved.isMoved ? await checkHookTokens(trx, caller, scope, id) : undefined
  if (denied) return denied
  const { linked_resources, health_check, ...columns } = input
  const check = healthCheckColumn(health_check)
  const current = before.server_ids
  const wanted = linked_resources?.map(({ resource_id }) => resource_id) ?? current
  const links = await checkLinks(trx, caller, scope, { applicationId: id, current, wanted })
  const problem =
    (links?.kind === 'conflict' ? undefined : links) ??
    checkSourceAccess(caller, resolved.source) ??
    (changesWhatRuns(input, before)
      ? await checkLocalAccess(trx, caller, { type: 'application', id })
      : undefined) ??
    (await checkFields(trx, scope, input, resolved.source, before)) ??
    links
  if (problem) return problem
  if (check.kind === 'invalid') return check
  const unfit = check.value && (await checkHealthStepFits(trx, { applicationId: id }))
  if (unfit) return unfit

  await storeLinks(trx, scope, id, wanted)
  await updateRow(trx, 'applications', id, { ...columns, health_check: check.value })
  await syncHealthSteps(trx, { applicationId: id })
  const row = await findApplication(trx, id)
  if (row?.credential_id !== before.credential_id) await storePresetUrls(trx, { applicationId: id })
  return auditApplication.saved(trx, request, scope.organization_id, before, row)
}

/**
 * The row stays, because runs reference it; variables, which may be secret, and links are deleted. `cascade` also
 * removes its pipelines and their hooks.
 */
export async function removeApplication(trx: Transaction, request: Removal) {
  const { id, caller, actor, cascade, ifMatch } = request
  const held = await lockForChange(trx, 'applications', id, findApplication, ifMatch)
  if (held.kind !== 'locked') return held
  const { scope, row } = held
  const pipelines = await pipelinesOf(trx, 'application_id', [id])
  const pipelineIds = pipelines.map((pipeline) => pipeline.id)
  await lockAgainstRuns(trx, pipelineIds)
  const hooks = await hooksOf(trx, pipelineIds)
  const problem =
    (cascade && checkCascade(caller, scope, { 'pipeline:remove': pipelines, 'hook:remove': hooks })) ||
    (await checkUnfinished(trx, sql`a.pipeline_id = any(${pipelineIds}::bigint[])`)) ||
    (!cascade &&
      checkDependents('The application', {
        pipelines: ['pipeline', pipelines],
        linked_resources: ['server', await serversOf(trx, row)],
      }))
  if (problem) return problem

  await removePipelines(trx, actor, scope.organization_id, pipelineIds)
  await trx.deleteFrom('application_servers').where('application_id', '=', id).execute()
  await trx.deleteFrom('application_variables').where('application_id', '=', id).execute()
  await updateRow(trx, 'applications', id, { deleted_at: NOW })
  const { name, repository } = row
  await recordAudit(trx, actor, {
    organizationId: scope.organization_id,
    verb: 'removed',
    subject: { type: 'application', id, name },
    before: { name, repository },
    after: null,
  })
  return REMOVED
}

function serversOf(trx: Transaction, { server_ids }: ApplicationRow) {
  return trx.selectFrom('servers').select('name').where(anyOf('id', server_ids)).orderBy('id').execute()
}

/** The fields that decide which commands run, and on what. */
const DECIDING = [
  'repository',
  'default_branch',
  'root_directory',
  'install_dependencies_command',
  'build_command',
  'shared_paths',
  'submodules',
  'credential_id',
] as const

function changesWhatRuns(input: ApplicationChange, stored: ApplicationRow): boolean {
  const check = normalizeHealthCheck(input.health_check ?? null)
  const isOtherCheck = check.kind === 'valid' && !isDeepStrictEqual(check.check, stored.health_check)
  if (input.health_check !== undefined && isOtherCheck) return true
  return DECIDING.some(
    (field) => input[field] !== undefined && JSON.stringify(input[field]) !== JSON.stringify(stored[field]),
  )
}

async function checkFields(
  trx: Transaction,
  scope: LockedEnvironment,
  input: ApplicationChange,
  source: SourceInput | undefined,
  stored?: ApplicationRow,
): Promise<HttpProblem | undefined> {
  const errors = validateApplication(input, source)
  if (
    input.name !== undefined &&
    input.name !== stored?.name &&
    (await isNameTaken(trx, 'applications', scope.environment_id, input.name, stored?.id))
  )
    errors.add('name', 'is taken by another application of this environment')
  return errors.problem
}

/** Removed applications keep their folder: another one must not find what they left on servers. */
async function freeFolder(trx: Transaction, environmentId: number, name: string): Promise<string> {
  const rows = await findRows(trx, 'applications', { environment_id: environmentId }, ['folder'])
  const taken = new Set(rows.map(({ folder }) => folder))
  const slug = slugify(name)
  let folder = slug
  for (let number = 2; taken.has(folder); number++) folder = `${slug}-${number}`
  return folder
}
