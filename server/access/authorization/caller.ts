import { CompiledQuery, sql } from 'kysely'
import { hashToken } from '#platform/crypto/tokens.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import { DATABASE_STATE } from '#platform/database/state.ts'
import { type BuiltInRole, type Grant, ROLE_PERMISSIONS } from './permissions.ts'

/** Whoever made a request, with everything that decides what they may do. */
export type Caller = {
  id: number
  name: string
  email: string
  is_instance_admin: boolean
  grants: Grant[]
  token: { id: number; kind: 'access' | 'personal'; family: string | null }
  /** See the table tree_version: read here because every request asks for its caller anyway. */
  tree_version: number
  /** As long as it stays the same, nothing has changed in the whole database (database/state.ts). */
  database_state: string
}

export type GrantRow = {
  built_in_role: BuiltInRole | null
  permissions: string[] | null
  organization_id: number
  project_id: number | null
  environment_id: number | null
}

/** Finds who a token belongs to; undefined for one that is unknown, expired or revoked. */
export type FindCaller = (token: string) => Promise<Caller | undefined>

/** Accounts and grants are read anew for each request: a revoked token or role counts at once, everywhere. */
export function createCallerFinder(db: Database): FindCaller {
  const find = shareLoads((hashes) => loadCallers(db, hashes))
  return (token) => find(hashToken(token).toString('hex'))
}

type CallerRow = {
  hash: string
  id: number
  name: string
  email: string
  is_instance_admin: boolean
  token_id: number
  kind: 'access' | 'personal'
  family: string | null
  is_use_unnoticed: boolean
  tree_version: number
  database_state: string
  grants: GrantRow[]
}

// Plain text: every request runs it, and building it anew would take longer than running it.
const CALLERS = `
  select encode(t.hash, 'hex') as hash, u.id, u.name, u.email, u.is_instance_admin, t.id as token_id, t.kind, t.family,
    t.kind = 'personal' and coalesce(t.used_at < now() - interval '1 minute', true) as is_use_unnoticed,
    (select version from tree_version) as tree_version, ${DATABASE_STATE} as database_state,
    (select coalesce(json_agg(json_build_object('built_in_role', g.built_in_role, 'permissions', r.permissions,
        'organization_id', g.organization_id, 'project_id', g.project_id, 'environment_id', g.environment_id)), '[]')
      from grants g left join roles r on r.id = g.role_id where g.user_id = u.id) as grants
  from tokens t join users u on u.id = t.user_id
  where t.hash = any($1::bytea[]) and t.kind in ('access', 'personal') and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > now()) and u.active`

async function loadCallers(db: Database, hashes: string[]): Promise<Map<string, Caller>> {
  const values = [hashes.map((hash) => Buffer.from(hash, 'hex'))]
  const { rows } = await db.executeQuery<CallerRow>(CompiledQuery.raw(CALLERS, values))
  const unnoticed = rows.filter((row) => row.is_use_unnoticed).map((row) => row.token_id)
  if (unnoticed.length > 0) {
    await db
      .updateTable('tokens')
      .set({ used_at: sql<string>`now()` })
      .where(anyOf('id', unnoticed))
      .execute()
  }
  return new Map(rows.map((row) => [row.hash, toCaller(row)]))
}

function toCaller({
  id,
  name,
  email,
  is_instance_admin,
  token_id,
  kind,
  family,
  tree_version,
  database_state,
  grants,
}: CallerRow): Caller {
  return {
    id,
    name,
    email,
    is_instance_admin,
    grants: grants.map(toGrant),
    token: { id: token_id, kind, family },
    tree_version,
    database_state,
  }
}

export function toGrant({ built_in_role, permissions, ...place }: GrantRow): Grant {
  return { ...place, permissions: built_in_role ? ROLE_PERMISSIONS[built_in_role] : new Set(permissions) }
}
