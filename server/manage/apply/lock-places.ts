import { sql, type Transaction } from 'kysely'
import { findOrganization } from '#manage/organizations/manage-organizations.ts'
import { findProject } from '#manage/organizations/manage-projects.ts'
import { lockEnvironments } from '#manage/organizations/remove-environments.ts'
import type { Tables } from '#platform/database/tables.ts'

/**
 * Taken before anything is read that decides what changes: one document about an organization is applied at a time,
 * also about one that is not there yet.
 */
export async function lockName(trx: Transaction<Tables>, organization: string): Promise<void> {
  const lock = `applying to ${organization}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(trx)
}

/**
 * Nobody else changes the places and credentials meanwhile. Always from the outside in, and all at once, as whoever
 * removes a project does: later on we would take them in the order of the document, and two of us might wait for
 * each other.
 */
export async function lockPlaces(
  trx: Transaction<Tables>,
  organizationId: number,
  projectName: string,
): Promise<void> {
  await findOrganization(trx, organizationId, { lock: true })
  const project = await trx
    .selectFrom('projects')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('name', '=', projectName)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (project && (await findProject(trx, project.id, { lock: true })))
    await lockEnvironments(trx, 'project_id', project.id)
  await trx
    .selectFrom('credentials')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}
