import { loadUsers } from '#access/accounts/load-users.ts'
import { readKnownHost } from '#adapters/executors/host-key.ts'
import { byId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { PROVIDERS } from '#platform/vocabulary.ts'
import type { ServerRow } from './find-servers.ts'
import type { Server } from './schemas.ts'

/** Rows of one environment → what the API shows of them. */
export async function presentServers(
  db: Database,
  rows: readonly ServerRow[],
  seen: { applications: boolean },
): Promise<Server[]> {
  const makers = rows.map((row) => row.created_by)
  const users = byId(await loadUsers(db, makers))
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    environment_id: row.environment_id,
    project_id: row.project_id,
    provider_type: 'server',
    provider_code: row.provider_code,
    provider_name: row.provider_code,
    provider_name_human_readable: PROVIDERS[row.provider_code],
    host: row.host,
    port: row.port,
    login_name: row.login_name,
    credential_id: row.credential_id,
    host_key: row.host_key,
    host_key_fingerprint: row.host_key === null ? null : (readKnownHost(row.host_key)?.fingerprint ?? null),
    root_directory: row.root_directory,
    max_parallel_actions: row.max_parallel_actions,
    linked_resources: (seen.applications ? row.application_ids : []).map((id) => ({
      resource_type: 'application',
      resource_id: id,
    })),
    created_by_user: users.get(row.created_by)!,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }))
}
