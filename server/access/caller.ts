import { sql } from 'kysely'
import { hashToken } from '#crypto/tokens.ts'
import type { Database } from '#database/connect.ts'
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
}

type GrantRow = {
  built_in_role: BuiltInRole | null
  permissions: string[] | null
  organization_id: number
  project_id: number | null
  environment_id: number | null
}

/** Accounts and grants are read anew for each request: a revoked token or role counts at once, everywhere. */
export async function findCaller(db: Database, token: string): Promise<Caller | undefined> {
  const row = await db
    .selectFrom('tokens')
    .innerJoin('users', 'users.id', 'tokens.user_id')
    .select(({ selectFrom }) => [
      'users.id',
      'users.name',
      'users.email',
      'users.is_instance_admin',
      'tokens.id as token_id',
      'tokens.kind',
      'tokens.family',
      sql<boolean>`tokens.kind = 'personal' and coalesce(tokens.used_at < now() - interval '1 minute', true)`.as(
        'unnoticed_use',
      ),
      selectFrom('tree_version').select('version').as('tree_version'),
      selectFrom('grants')
        .leftJoin('roles', 'roles.id', 'grants.role_id')
        .whereRef('grants.user_id', '=', 'users.id')
        .select(
          sql<GrantRow[]>`coalesce(json_agg(json_build_object(
            'built_in_role', built_in_role, 'permissions', permissions,
            'organization_id', grants.organization_id, 'project_id', project_id,
            'environment_id', environment_id)), '[]')`.as('rows'),
        )
        .as('grants'),
    ])
    .where('tokens.hash', '=', hashToken(token))
    .where('tokens.kind', 'in', ['access', 'personal'])
    .where('tokens.revoked_at', 'is', null)
    .where(sql<boolean>`(tokens.expires_at is null or tokens.expires_at > now())`)
    .where('users.active', '=', true)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.unnoticed_use) {
    await db
      .updateTable('tokens')
      .set({ used_at: sql<string>`now()` })
      .where('id', '=', row.token_id)
      .execute()
  }
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    is_instance_admin: row.is_instance_admin,
    grants: (row.grants ?? []).map(toGrant),
    token: { id: row.token_id, kind: row.kind as 'access' | 'personal', family: row.family },
    tree_version: row.tree_version ?? 0,
  }
}

function toGrant({ built_in_role, permissions, ...place }: GrantRow): Grant {
  return { ...place, permissions: built_in_role ? ROLE_PERMISSIONS[built_in_role] : new Set(permissions) }
}
