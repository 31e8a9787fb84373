import type { Selectable } from 'kysely'
import { loadUsers } from '#access/accounts/load-users.ts'
import type { User } from '#access/accounts/user-schema.ts'
import { anyOf, byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ApplicationsTable, CredentialsTable } from '#platform/database/tables.ts'
import { AUTH_TYPES, displayName, PROVIDER_TYPES, PROVIDERS } from '#platform/vocabulary.ts'

// What pipelines run on. Only data that belongs to the tree: related actions (last deployments, the last action of
// a credential) are added where a resource is shown.

export type ApplicationRecord = Awaited<ReturnType<typeof loadApplications>>[number]
export type PipelineRecord = Awaited<ReturnType<typeof loadPipelines>>[number]
export type ServerData = Awaited<ReturnType<typeof loadServers>>[number]

/** Pipelines with the resource that each runs on, in five statements for any number of them. */
export async function loadPipelines(db: Database, ids: readonly number[]) {
  const pipelines = await db
    .selectFrom('pipelines')
    .select(['id', 'name', 'operation', 'environment_id', 'resource_type', 'application_id', 'server_id'])
    .where(anyOf('pipelines.id', ids))
    .execute()
  const applicationIds = pipelines.flatMap((row) => row.application_id ?? [])
  const applications = byId(await loadApplications(db, applicationIds))
  const serverIds = pipelines.flatMap((row) => row.server_id ?? [])
  const servers = byId(await loadServers(db, serverIds))
  return pipelines.map(({ application_id, server_id, ...pipeline }) => ({
    ...pipeline,
    resource_id: (application_id ?? server_id)!,
    application: application_id === null ? null : applications.get(application_id)!,
    server: server_id === null ? null : servers.get(server_id)!,
  }))
}

export async function loadApplications(db: Database, ids: readonly number[]) {
  const rows = await db.selectFrom('applications').selectAll().where(anyOf('applications.id', ids)).execute()
  const credentialIds = rows.flatMap((row) => row.credential_id ?? [])
  const credentials = byId(await loadCredentials(db, credentialIds))
  return rows.map((row) => ({
    id: row.id,
    credential: row.credential_id === null ? null : credentials.get(row.credential_id)!,
    data: applicationData(row),
  }))
}

export async function loadServers(db: Database, ids: readonly number[]) {
  const rows = await db
    .selectFrom('servers')
    .select(['id', 'name', 'provider_code'])
    .where(anyOf('servers.id', ids))
    .execute()
  return rows.map(({ id, name, provider_code }) => ({
    id,
    name,
    provider_type: 'server',
    provider_code,
    provider_name: provider_code,
    provider_name_human_readable: PROVIDERS[provider_code],
  }))
}

async function loadCredentials(db: Database, ids: readonly number[]) {
  const rows = await db
    .selectFrom('credentials')
    .select(['id', 'name', 'provider_code', 'auth_type', 'active', 'created_by', 'created_at', 'updated_at'])
    .where(anyOf('credentials.id', ids))
    .execute()
  const creatorIds = rows.map((row) => row.created_by)
  const users = byId(await loadUsers(db, creatorIds))
  return rows.map((row) => ({
    id: row.id,
    data: credentialData(row, users.get(row.created_by)!),
  }))
}

type CredentialRow = Pick<
  Selectable<CredentialsTable>,
  'id' | 'name' | 'provider_code' | 'auth_type' | 'active' | 'created_at' | 'updated_at'
>

export function credentialData(row: CredentialRow, created_by_user: User) {
  const type = providerType(row.provider_code)
  return {
    id: row.id,
    name: row.name,
    provider: {
      active: true,
      code: row.provider_code,
      code_human_readable: PROVIDERS[row.provider_code],
      type,
      type_human_readable: PROVIDER_TYPES[type],
    },
    provider_type: type,
    provider_type_human_readable: PROVIDER_TYPES[type],
    provider_auth_type: row.auth_type,
    provider_auth_type_human_readable: AUTH_TYPES[row.auth_type],
    active: row.active,
    created_by_user,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

function applicationData(row: Selectable<ApplicationsTable>) {
  const { owner, name } = parseRepository(row.repository)
  return {
    id: row.id,
    project_id: row.project_id,
    environment_id: row.environment_id,
    created_by: row.created_by,
    name: row.name,
    repository: row.repository,
    repository_name: name,
    repository_owner: owner,
    default_branch: row.default_branch,
    programming_language: row.programming_language,
    programming_language_human_readable: displayName(row.programming_language),
    engine_version: row.engine_version,
    framework: row.framework,
    framework_human_readable: displayName(row.framework),
    root_directory: row.root_directory,
    install_dependencies_command: row.install_dependencies_command,
    build_command: row.build_command,
    deployments_keep: row.deployments_keep,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

/** Owner and name of a repository, given as `acme/shop`, an HTTPS or SSH URL, or a path. */
export function parseRepository(repository: string): { owner: string | null; name: string | null } {
  const path = repository
    .replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '') // https://host/…, ssh://user@host:22/…, file:///…
    .replace(/^[^/\s]+:/, '') // git@host:…, host:…
  const parts = path.split('/').filter((part) => part !== '')
  const name = parts.at(-1)?.replace(/\.git$/, '') ?? null
  return { owner: parts.at(-2) ?? null, name: name === '' ? null : name }
}

function providerType(code: CredentialRow['provider_code']): keyof typeof PROVIDER_TYPES {
  if (code === 'ssh') return 'ssh_key'
  return code === 'slack' || code === 'discord' ? 'chat' : 'source_provider'
}
