import { CompiledQuery, sql } from 'kysely'
import { mayBeToken } from '#platform/crypto/personal-token.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import type { Database } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import { type BuiltInRole, type Grant, ROLE_PERMISSIONS } from './permissions.ts'
import { isRestricted, limitGrants, type TokenLimits } from './token-limits.ts'

/** The user behind a request, with everything that decides what they may do. */
export type Caller = {
  id: number
  name: string
  email: string
  /** False for a token that is restricted to organizations or projects, even one of an instance administrator. */
  is_instance_admin: boolean
  /** Those of the user, as far as the limits of the token allow. */
  grants: Grant[]
  token: TokenLimits & {
    id: number
    kind: 'access' | 'personal'
    family: string | null
    expires_at: string | null
  }
  /** See the table tree_version; read here because every request loads its caller anyway. */
  tree_version: number
}

type GrantRow = Omit<Grant, 'permissions'> & {
  built_in_role: BuiltInRole | null
  permissions: string[] | null
}

/**
 * Finds who a token belongs to; undefined for one that is unknown, expired or revoked. `ipAddress`: where it is used
 * from.
 */
export type FindCaller = (token: string, ipAddress?: string) => Promise<Caller | undefined>

/**
 * Reads accounts and grants for each request, so that a revoked token or role takes effect at once everywhere.
 * `onFound`: hears what every lookup found, by the hash of the token. `touchOver`: when a token was used last is written over
 * this one, and the lookup does not wait for it.
 */
export function createCallerFinder(
  db: Database,
  options: { onFound?: (hash: string, caller: Caller | undefined) => void; touchOver?: Database } = {},
): FindCaller {
  const { onFound, touchOver } = options
  const addresses = new Map<string, string>()
  const find = shareLoads(async (hashes) => {
    const used = hashes.map((hash) => addresses.get(hash) ?? null)
    for (const hash of hashes) addresses.delete(hash)
    const rows = await loadCallers(db, hashes)
    const touched = touch(touchOver ?? db, rows, (hash) => used[hashes.indexOf(hash)] ?? null)
    if (touchOver) touched.catch(() => {})
    else await touched
    return new Map(rows.map((row) => [row.hash, toCaller(row)]))
  })
  return async (token, ipAddress) => {
    if (!mayBeToken(token)) return undefined
    const hash = hashToken(token).toString('hex')
    if (ipAddress !== undefined) addresses.set(hash, ipAddress)
    const caller = await find(hash)
    onFound?.(hash, caller)
    return caller
  }
}

type CallerRow = Omit<Caller, 'grants' | 'token'> &
  Omit<Caller['token'], 'id'> & {
    hash: string
    token_id: number
    needs_touch: boolean
    session_needs_touch: boolean
    grants: GrantRow[]
  }

// Plain text: every request runs it, and building it each time would take longer than running it.
const CALLERS = `
  select encode(t.hash, 'hex') as hash, u.id, u.name, u.email, u.is_instance_admin, t.id as token_id, t.kind, t.family,
    t.expires_at, t.scopes, t.organization_ids, case when t.project_ids is not null then
      (select coalesce(json_agg(json_build_object('id', p.id, 'organization_id', p.organization_id)), '[]')
        from projects p where p.id = any(t.project_ids)) end as projects,
    t.kind = 'personal' and coalesce(t.used_at < now() - interval '1 minute', true) as needs_touch,
    coalesce(s.last_used_at < now() - interval '1 minute', false) as session_needs_touch,
    (select version from tree_version) as tree_version,
    (select coalesce(json_agg(json_build_object('built_in_role', g.built_in_role, 'permissions', r.permissions,
        'organization_id', g.organization_id, 'project_id', g.project_id, 'environment_id', g.environment_id)), '[]')
      from grants g left join roles r on r.id = g.role_id where g.user_id = u.id) as grants
  from tokens t join users u on u.id = t.user_id left join sessions s on s.family = t.family
  where t.hash = any($1::bytea[]) and t.kind in ('access', 'personal') and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > now()) and u.active`

async function loadCallers(db: Database, hashes: string[]): Promise<CallerRow[]> {
  const values = [hashes.map((hash) => Buffer.from(hash, 'hex'))]
  return (await db.executeQuery<CallerRow>(CompiledQuery.raw(CALLERS, values))).rows
}

/** When and from where they were used last, to the minute. */
async function touch(db: Database, rows: readonly CallerRow[], addressOf: (hash: string) => string | null) {
  const untouched = rows.filter((row) => row.needs_touch)
  if (untouched.length > 0) {
    const ids = untouched.map((row) => row.token_id)
    const used = untouched.map((row) => addressOf(row.hash))
    await sql`
      update tokens t set used_at = now(), used_ip = coalesce(u.ip, t.used_ip)
      from unnest(${ids}::bigint[], ${used}::text[]) as u (id, ip) where t.id = u.id`.execute(db)
  }
  const unseen = rows.filter((row) => row.session_needs_touch).map((row) => row.family!)
  if (unseen.length > 0)
    await sql`update sessions set last_used_at = now() where family = any(${unseen}::uuid[])`.execute(db)
}

function toCaller(row: CallerRow): Caller {
  const { hash: _, needs_touch: __, session_needs_touch: ___, token_id, grants, ...rest } = row
  const { kind, family, expires_at, scopes, organization_ids, projects, ...user } = rest
  const token = { id: token_id, kind, family, expires_at, scopes, organization_ids, projects }
  return {
    ...user,
    is_instance_admin: user.is_instance_admin && !isRestricted(token),
    grants: limitGrants(grants.map(toGrant), token),
    token,
  }
}

function toGrant({ built_in_role, permissions, ...scope }: GrantRow): Grant {
  return { ...scope, permissions: built_in_role ? ROLE_PERMISSIONS[built_in_role] : new Set(permissions) }
}

/** What these users may do now, for work that is done on their behalf; nothing once they are inactive. */
export async function loadGrants(db: Database, userIds: readonly number[]) {
  if (userIds.length === 0) return new Map()
  const { rows } = await sql<GrantRow & { user_id: number }>`
    select g.user_id, g.built_in_role, r.permissions, g.organization_id, g.project_id, g.environment_id
    from grants g join users u on u.id = g.user_id left join roles r on r.id = g.role_id
    where g.user_id = any(${userIds}::bigint[]) and u.active`.execute(db)
  const byUser = Map.groupBy(rows, (row) => row.user_id)
  const grantsOf = (id: number) => (byUser.get(id) ?? []).map(({ user_id: _, ...row }) => toGrant(row))
  return new Map(userIds.map((id) => [id, { grants: grantsOf(id) }]))
}

/** A token of a browser session, of a login, or a personal access token. */
export type ExpiredToken = 'cookie' | 'access' | 'personal'

/**
 * Whether a token that finds no caller would, had it not expired. A revoked one, or one of a deactivated account, counts
 * as unknown: the response says nothing about it.
 */
export async function findExpiredToken(db: Database, token: string): Promise<ExpiredToken | undefined> {
  if (!mayBeToken(token)) return undefined
  const { rows } = await sql<{ kind: ExpiredToken }>`
    select case when t.in_cookie then 'cookie' else t.kind end as kind
    from tokens t join users u on u.id = t.user_id
    where t.hash = ${hashToken(token)} and t.kind in ('access', 'personal') and t.revoked_at is null
      and t.expires_at <= now() and u.active`.execute(db)
  return rows[0]?.kind
}
