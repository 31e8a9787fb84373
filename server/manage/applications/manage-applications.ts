import type { Insertable, Transaction } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { isNameTaken } from '#model/inventory/names.ts'
import { LOCAL_ONLY, refuseLocal } from '#model/pipelines/local-servers.ts'
import { type EnvironmentHeld, lockAround, lockEnvironment } from '#model/pipelines/lock-environment.ts'
import type { ApplicationsTable, Tables } from '#platform/database/tables.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import type { HttpProblem } from '#platform/http/problems.ts'
import { slugify } from '#platform/slug.ts'
import { checkApplication, isOnThisMachine, type SourceInput } from './check-application.ts'
import { type ApplicationRow, findApplication } from './find-applications.ts'
import { checkLinks, storeLinks } from './manage-links.ts'
import type { ApplicationBody, ApplicationChange } from './schemas.ts'
import { settleSource } from './settle-source.ts'
import { type ChangeDeps, updateApplication } from './touch-application.ts'

export type ApplicationOutcome = { kind: 'done'; row: ApplicationRow } | HttpProblem

export async function createApplication(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  environmentId: number,
  body: ApplicationBody,
): Promise<ApplicationOutcome> {
  const place = await lockEnvironment(trx, environmentId)
  if (!place) return { kind: 'gone' }
  const settled = await settleSource(trx, caller, place, body)
  if ('kind' in settled) return settled
  const wanted = (body.linked_resources ?? []).map(({ resource_id }) => resource_id)
  const refusal =
    (await checkLinks(trx, caller, place, { applicationId: null, today: [], wanted })) ??
    refuseThisMachine(caller, settled.source) ??
    (await checkFields(trx, place, body, settled.source))
  if (refusal) return refusal

  const { id } = await trx
    .insertInto('applications')
    .values({
      ...(columnsOf(body) as Pick<Insertable<ApplicationsTable>, 'name' | 'repository'>),
      default_branch: body.default_branch ?? 'main',
      project_id: place.project_id,
      environment_id: environmentId,
      folder: await freeFolder(trx, environmentId, body.name),
      created_by: caller.id,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await storeLinks(trx, place, id, wanted)
  const row = (await findApplication(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb: 'created',
    subject: { type: 'application', id, name: row.name },
    before: null,
    after: audited(row),
  })
  return { kind: 'done', row }
}

/** `ifMatch` is the row version that the caller last saw, when they said so. */
export async function changeApplication(
  trx: Transaction<Tables>,
  { actor }: ChangeDeps,
  caller: Caller,
  id: number,
  body: ApplicationChange,
  ifMatch?: string,
): Promise<ApplicationOutcome> {
  const place = await lockAround(trx, 'applications', id)
  const stored = place && (await findApplication(trx, id, { lock: true }))
  if (!place || !stored) return { kind: 'gone' }
  if (isOutdated(ifMatch, stored.row_version)) return { kind: 'changed-meanwhile' }
  const settled = await settleSource(trx, caller, place, body, stored)
  if ('kind' in settled) return settled
  const today = stored.server_ids
  const wanted = body.linked_resources?.map(({ resource_id }) => resource_id) ?? today
  const links = await checkLinks(trx, caller, place, { applicationId: id, today, wanted })
  const refusal =
    (links?.kind === 'conflict' ? undefined : links) ??
    (settled.source && refuseThisMachine(caller, settled.source)) ??
    (changesWhatRuns(body, stored)
      ? await refuseLocal(trx, caller, { type: 'application', id })
      : undefined) ??
    (await checkFields(trx, place, body, settled.source, stored)) ??
    links
  if (refusal) return refusal

  await storeLinks(trx, place, id, wanted)
  await updateApplication(trx, id, columnsOf(body))
  const row = (await findApplication(trx, id))!
  await recordAudit(trx, actor, {
    organizationId: place.organization_id,
    verb: 'changed',
    subject: { type: 'application', id, name: row.name },
    before: audited(stored),
    after: audited(row),
  })
  return { kind: 'done', row }
}

/** What the audit keeps of an application. */
export function audited(row: ApplicationRow) {
  const { id, project_id, environment_id, live_action_id, created_by, created_at, updated_at, ...kept } = row
  const { deleted_at, row_version, ...fields } = kept
  return fields
}

/** A field that is given replaces what is stored; the rest stays. */
function columnsOf({ linked_resources, ...columns }: ApplicationChange) {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined))
}

/** The fields that decide which commands run, and on what. */
const DECIDING = [
  'repository',
  'default_branch',
  'root_directory',
  'install_dependencies_command',
  'build_command',
  'shared_paths',
  'credential_id',
] as const

function changesWhatRuns(body: ApplicationChange, stored: ApplicationRow): boolean {
  return DECIDING.some(
    (field) => body[field] !== undefined && JSON.stringify(body[field]) !== JSON.stringify(stored[field]),
  )
}

function refuseThisMachine(caller: Caller, source: SourceInput | undefined): HttpProblem | undefined {
  if (!source || caller.is_instance_admin || !isOnThisMachine(source)) return undefined
  return { kind: 'forbidden', reason: `A repository with file: lies on this machine. ${LOCAL_ONLY}` }
}

async function checkFields(
  trx: Transaction<Tables>,
  place: EnvironmentHeld,
  body: ApplicationChange,
  source: SourceInput | undefined,
  stored?: ApplicationRow,
): Promise<HttpProblem | undefined> {
  const faults = checkApplication(body, source)
  if (
    body.name !== undefined &&
    body.name !== stored?.name &&
    (await isNameTaken(trx, 'applications', place.environment_id, body.name, stored?.id))
  )
    faults.add('name', 'is the name of another application of this environment')
  return faults.any ? { kind: 'invalid', errors: faults.found } : undefined
}

/** Removed applications keep theirs: what they left on servers is not for another one to find. */
async function freeFolder(trx: Transaction<Tables>, environmentId: number, name: string): Promise<string> {
  const rows = await trx
    .selectFrom('applications')
    .select('folder')
    .where('environment_id', '=', environmentId)
    .execute()
  const taken = new Set(rows.map(({ folder }) => folder))
  const slug = slugify(name)
  let folder = slug
  for (let number = 2; taken.has(folder); number++) folder = `${slug}-${number}`
  return folder
}
