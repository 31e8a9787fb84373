import { type RawBuilder, sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Permission } from '#access/authorization/permissions.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Extent, Page } from '#platform/http/pagination.ts'

export type ListFilters = { name?: string }
export type Listed = { rows: { id: number }[]; extent: Extent }

type Grants = Pick<Caller, 'grants'>

/** Those on which the caller has organization:view, newest first. */
export function listOrganizations(
  db: Database,
  caller: Grants,
  filters: ListFilters,
  page: Page,
): Promise<Listed> {
  const ids = caller.grants
    .map((grant) => grant.organization_id)
    .filter((organization_id) => can(caller, 'organization:view', { organization_id }))
  return listRows(db, 'organizations', anyOf('id', ids), filters, page)
}

/** The projects of an organization that the caller may see, newest first. */
export function listProjects(
  db: Database,
  caller: Grants,
  organization_id: number,
  filters: ListFilters,
  page: Page,
): Promise<Listed> {
  const seen = can(caller, 'project:view', { organization_id })
    ? sql`true`
    : anyOf('id', grantedPlaces(caller, 'project:view', 'project_id'))
  return listRows(db, 'projects', sql`organization_id = ${organization_id} and ${seen}`, filters, page)
}

/** The environments of a project that the caller may see, newest first. */
export function listEnvironments(
  db: Database,
  caller: Grants,
  place: { organization_id: number; project_id: number },
  filters: ListFilters,
  page: Page,
): Promise<Listed> {
  const seen = can(caller, 'environment:view', place)
    ? sql`true`
    : anyOf('id', grantedPlaces(caller, 'environment:view', 'environment_id'))
  return listRows(db, 'environments', sql`project_id = ${place.project_id} and ${seen}`, filters, page)
}

/** The projects or environments on which the caller has a permission by a grant on just that one. */
function grantedPlaces(caller: Grants, permission: Permission, level: 'project_id' | 'environment_id') {
  return caller.grants
    .filter((grant) => grant.permissions.has(permission))
    .filter((grant) => level === 'environment_id' || grant.environment_id === null)
    .flatMap((grant) => grant[level] ?? [])
}

async function listRows(
  db: Database,
  table: 'organizations' | 'projects' | 'environments',
  where: RawBuilder<unknown>,
  { name }: ListFilters,
  page: Page,
): Promise<Listed> {
  const isNamed = name === undefined ? sql`true` : sql`position(lower(${name}) in lower(name)) > 0`
  const listed = sql`from ${sql.table(table)} where ${where} and deleted_at is null and ${isNamed}`
  const { rows } = await sql<{ id: number }>`
    select id ${listed} order by id desc limit ${page.limit} offset ${page.offset}`.execute(db)
  const counted = await sql<{ total: number }>`select count(*) as total ${listed}`.execute(db)
  const { total } = counted.rows[0]!
  return { rows, extent: { total, hasMore: rows.length > 0 && page.offset + rows.length < total } }
}
