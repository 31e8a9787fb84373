import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import {
  type AuditedChange,
  auditorOf,
  type Change,
  type Creation,
  type Removal,
  recordAudits,
} from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { keepForWebhooks } from '#model/connections/stored-connections.ts'
import { removeGrants } from '#model/inventory/remove-grants.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findById, findRows, NOW, rowVersion, updateRow } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import {
  CHANGED_MEANWHILE,
  conflict,
  GONE,
  type HttpProblem,
  invalidAt,
  listNames,
} from '#platform/http/problems.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { insertWithSlug } from '#platform/slug.ts'
import {
  checkRemoval,
  type LockedEnvironment,
  lockEnvironments,
  removeEnvironments,
} from './remove-environments.ts'
import type { OrganizationBody, OrganizationChange } from './schemas.ts'

export const auditOrganization = auditorOf<OrganizationRow>('organization', ['name'])

/** The caller becomes its owner. */
export async function createOrganization(trx: Transaction, request: Creation<OrganizationBody>) {
  const { body, caller } = request
  const { name } = body
  const { id } = await insertWithSlug(name, (url_slug) =>
    trx
      .insertInto('organizations')
      .values({ name, url_slug, owner_id: caller.id })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst(),
  )
  await trx
    .insertInto('grants')
    .values({ user_id: caller.id, built_in_role: 'owner', organization_id: id })
    .execute()
  return auditOrganization.saved(trx, request, id, null, await findOrganization(trx, id))
}

/** The slug stays when the name changes: URLs with it are in use. */
export async function changeOrganization(trx: Transaction, request: Change<OrganizationChange>) {
  const { id, body: input, ifMatch } = request
  const before = await findOrganization(trx, id, { lock: true })
  if (!before) return GONE
  if (isOutdated(ifMatch, before.row_version)) return CHANGED_MEANWHILE
  if (!changes(before, input)) return { kind: 'done' as const, row: before }
  await updateRow(trx, 'organizations', id, input)
  return auditOrganization.saved(trx, request, id, before, await findOrganization(trx, id))
}

type OrganizationRow = NonNullable<Awaited<ReturnType<typeof findOrganization>>>

export function findOrganization(db: Database, id: number, options?: { lock: boolean }) {
  const query = db
    .selectFrom('organizations')
    .select(['id', 'name', 'owner_id', rowVersion('organizations')])
    .where('deleted_at', 'is', null)
  return findById(query, 'organizations', id, options)
}

// Shared by the three levels of the tree.

/** Pure: whether the input says anything that is not stored already. */
export function changes(stored: object, input: object): boolean {
  return !isDeepStrictEqual({ ...stored, ...input }, stored)
}

export const nameTaken = (noun: string) => invalidAt('name', `is already taken by another ${noun}`)

/** Pure: what is still in something, each kind with a few names: `{ projects: ['2 projects: Shop, Blog'] }`. */
export function notEmpty(noun: string, contents: Record<string, readonly { name: string }[]>) {
  const errors: ErrorsByField = {}
  for (const [kind, rows] of Object.entries(contents)) {
    const names = rows.map(({ name }) => name)
    if (names.length > 0) errors[kind] = [listNames(kind.replace(/s$/, ''), names)]
  }
  const reasons = Object.values(errors).flat()
  return reasons.length === 0
    ? undefined
    : conflict(`The ${noun} is not empty: ${reasons.join('; ')}.`, errors)
}

export function loadNames(trx: Transaction, table: 'applications' | 'servers', environmentId: number) {
  return findRows(trx, table, { environment_id: environmentId, deleted_at: null }, ['name'], {
    orderBy: 'name',
  })
}

type Named = { id: number; name: string }

/** Only an empty one, unless `cascade`; its members lose their roles in it. */
export async function removeOrganization(trx: Transaction, request: Removal) {
  const { id, caller, actor, cascade, ifMatch } = request
  const row = await findOrganization(trx, id, { lock: true })
  if (!row) return GONE
  if (isOutdated(ifMatch, row.row_version)) return CHANGED_MEANWHILE
  const projects = await lockContents(trx, 'projects', id)
  const credentials = await lockContents(trx, 'credentials', id)
  if (!cascade) {
    const problem = notEmpty('organization', { projects: byName(projects), credentials: byName(credentials) })
    if (problem) return problem
  }
  const environments: LockedEnvironment[] = []
  for (const project of projects)
    environments.push(...(await lockEnvironments(trx, 'project_id', project.id)))
  const problem =
    checkPermissions(caller, id, projects, credentials) ??
    (await checkRemoval(trx, caller, environments, ['environment']))
  if (problem) return problem
  await removeEnvironments(trx, actor, environments)
  const projectIds = projects.map((project) => project.id)
  await removeGrants(trx, 'project_id', projectIds)
  const removed = sql`deleted_at = now(), updated_at = now()`
  await sql`update projects set ${removed} where ${anyOf('id', projectIds)}`.execute(trx)
  const credentialIds = credentials.map((credential) => credential.id)
  await keepForWebhooks(trx, credentialIds)
  const isNeeded = sql`exists (select from webhook_removals r where r.credential_id = credentials.id)`
  await sql`
    update credentials set secret = case when ${isNeeded} then secret end, active = false, ${removed}
    where ${anyOf('id', credentialIds)}`.execute(trx)
  await recordAudits(trx, actor, [
    ...removalsOf('project', id, projects),
    ...removalsOf('credential', id, credentials),
  ])
  await removeGrants(trx, 'organization_id', [id])
  await trx.deleteFrom('roles').where('organization_id', '=', id).execute()
  await updateRow(trx, 'organizations', id, { deleted_at: NOW })
  return auditOrganization.removed(trx, request, id, row)
}

/** In the order of their ids. */
function lockContents(trx: Transaction, table: 'projects' | 'credentials', id: number): Promise<Named[]> {
  return findRows(trx, table, { organization_id: id, deleted_at: null }, ['id', 'name'], {
    orderBy: 'id',
    lock: 'for no key update',
  })
}

const byName = (rows: readonly Named[]) => rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** A cascade removes only what the caller could remove one by one. */
function checkPermissions(
  caller: Pick<Caller, 'grants'>,
  organization_id: number,
  projects: readonly Named[],
  credentials: readonly Named[],
): HttpProblem | undefined {
  const mayRemove = projects.every(({ id }) =>
    can(caller, 'project:remove', { organization_id, project_id: id }),
  )
  const missing: Permission[] = mayRemove ? [] : ['project:remove']
  if (credentials.length > 0 && !can(caller, 'credential:remove', { organization_id }))
    missing.push('credential:remove')
  if (missing.length === 0) return undefined
  const permissions = missing.sort().join(' and ')
  return { kind: 'forbidden', reason: `You need the permission ${permissions} for what is removed with it.` }
}

function removalsOf(type: string, organizationId: number, rows: readonly Named[]): AuditedChange[] {
  return rows.map(({ id, name }) => ({
    organizationId,
    verb: 'removed',
    subject: { type, id, name },
    before: { name },
    after: null,
  }))
}
