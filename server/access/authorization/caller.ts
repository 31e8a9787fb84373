import { CompiledQuery, sql } from 'kysely'
import { hashToken } from '#platform/crypto/tokens.ts'
import { anyOf } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import { type BuiltInRole, type Grant, ROLE_PERMISSIONS } from './permissions.ts'

/** The user behind a request, with everything that decides what they may do. */
export type Caller = {
  id: number
  name: string
  email: string
  is_instance_admin: boolean
  grants: Grant[]
  token: { id: number; kind: 'access' | 'personal'; family: string | null }
  /** See the table tree_version; read here because every request loads its caller anyway. */
  tree_version: number
}

type GrantRow = Omit<Grant, 'permissions'> & {
  built_in_role: BuiltInRole | null
  permissions: string[] | null
}

/** Finds who a token belongs to; undefined for one that is unknown, expired or revoked. */
export type FindCaller = (token: string) => Promise<Caller | undefined>

/** Reads accounts and grants for each request, so that a revoked token or role takes effect at once everywhere. */
export function createCallerFinder(db: Database): FindCaller {
  const find = shareLoads((hashes) => loadCallers(db, hashes))
  return (token) => find(hashToken(token).toString('hex'))
}

type CallerRow = Omit<Caller, 'grants' | 'token'> & {
  hash: string
  token_id: number
  kind: 'access' | 'personal'
  family: string | null
  needs_touch: boolean
  session_needs_touch: boolean
  grants: GrantRow[]
}

// Plain text: every request runs it, and building it each time would take longer than running it.
const CALLERS = `
  select encode(t.hash, 'hex') as hash, u.id, u.name, u.email, u.is_instance_admin, t.id as token_id, t.kind, t.family,
    t.kind = 'personal' and coalesce(t.used_at < now() - interval '1 minute', true) as needs_touch,
    coalesce(s.last_used_at < now() - interval '1 minute', false) as session_needs_touch,
    (select version from tree_version) as tree_version,
    (select coalesce(json_agg(json_build_object('built_in_role', g.built_in_role, 'permissions', r.permissions,
        'organization_id', g.organization_id, 'project_id', g.project_id, 'environment_id', g.environment_id)), '[]')
      from grants g left join roles r on r.id = g.role_id where g.user_id = u.id) as grants
  from tokens t join users u on u.id = t.user_id left join sessions s on s.family = t.family
  where t.hash = any($1::bytea[]) and t.kind in ('access', 'personal') and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > now()) and u.active`

async function loadCallers(db: Database, hashes: string[]): Promise<Map<string, Caller>> {
  const values = [hashes.map((hash) => Buffer.from(hash, 'hex'))]
  const { rows } = await db.executeQuery<CallerRow>(CompiledQuery.raw(CALLERS, values))
  const untouched = rows.filter((row) => row.needs_touch).map((row) => row.token_id)
  if (untouched.length > 0) {
    await db
      .updateTable('tokens')
      .set({ used_at: sql<string>`now()` })
      .where(anyOf('id', untouched))
      .execute()
  }
  const unseen = rows.filter((row) => row.session_needs_touch).map((row) => row.family!)
  if (unseen.length > 0)
    await sql`update sessions set last_used_at = now() where family = any(${unseen}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.hash, toCaller(row)]))
}

function toCaller({
  hash: _,
  needs_touch: __,
  session_needs_touch: ___,
  token_id,
  kind,
  family,
  grants,
  ...user
}: CallerRow): Caller {
  return { ...user, grants: grants.map(toGrant), token: { id: token_id, kind, family } }
}

function toGrant({ built_in_role, permissions, ...scope }: GrantRow): Grant {
  return { ...scope, permissions: built_in_role ? ROLE_PERMISSIONS[built_in_role] : new Set(permissions) }
}

/** What these users may do now, for work that is done on their behalf; nothing once they are inactive. */
export async function loadGrants(
  db: Database,
  userIds: readonly number[],
): Promise<Map<number, { grants: Grant[] }>> {
  if (userIds.length === 0) return new Map()
  const { rows } = await sql<GrantRow & { user_id: number }>`
    select g.user_id, g.built_in_role, r.permissions, g.organization_id, g.project_id, g.environment_id
    from grants g join users u on u.id = g.user_id left join roles r on r.id = g.role_id
    where g.user_id = any(${userIds}::bigint[]) and u.active`.execute(db)
  const byUser = Map.groupBy(rows, (row) => row.user_id)
  const grantsOf = (id: number) => (byUser.get(id) ?? []).map(({ user_id: _, ...row }) => toGrant(row))
  return new Map(userIds.map((id) => [id, { grants: grantsOf(id) }]))
}
