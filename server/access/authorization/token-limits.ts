import { can, type Grant, type Scope } from './permissions.ts'

// What a personal access token is limited to: scopes say what it may be used for, organizations and projects where.
// The token of a login has no limits. Pure.

export const TOKEN_SCOPES = ['read', 'run', 'hooks', 'manage', 'approve'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** Null: not limited in that respect. */
export type TokenLimits = {
  scopes: readonly TokenScope[] | null
  organization_ids: readonly number[] | null
  projects: readonly { id: number; organization_id: number }[] | null
}

/**
 * What a route requires of a personal access token: one of the scopes; `any` for every token; `unlimited` for a token
 * without any limits; `none` where personal access tokens are not accepted.
 */
export type TokenRequirement = TokenScope | 'any' | 'unlimited' | 'none'

/** The rule for routes that declare nothing else. `needs`: the permissions that the route requires. */
export function requirementOf(method: string, url: string, needs: readonly string[]): TokenRequirement {
  if (/^\/users(\/|$)/.test(url)) return 'none'
  if (method === 'GET' || method === 'HEAD') return 'read'
  if (needs.includes('action:approve')) return 'approve'
  if (needs.some((need) => need === 'pipeline:run' || need === 'replay')) return 'run'
  return needs.some((need) => need.startsWith('hook:')) ? 'hooks' : 'manage'
}

/** Why a personal access token with these limits does not meet the requirement; undefined when it does. */
export function unmetRequirement(limits: TokenLimits, requirement: TokenRequirement): string | undefined {
  switch (requirement) {
    case 'any':
      return undefined
    case 'none':
      return 'Personal access tokens cannot be used here: log in instead.'
    case 'unlimited':
      return limits.scopes === null && !isRestricted(limits) ? undefined : LIMITED
    default:
      return hasScope(limits, requirement)
        ? undefined
        : `This requires a personal access token with the scope ${requirement}.`
  }
}

const LIMITED =
  'This requires a personal access token without scopes and restrictions: log in, or use another one.'

/**
 * Each scope stands alone: none includes another. A token without scopes has all of them but `approve`, which is given by
 * name only.
 */
export function hasScope({ scopes }: Pick<TokenLimits, 'scopes'>, scope: TokenScope): boolean {
  return scopes === null ? scope !== 'approve' : scopes.includes(scope)
}

/**
 * Whether the caller sees what only editors of hooks may see. A token needs the scope as well: the URL of a hook starts runs, and keys of
 * receivers post in its name, so they are not for tokens that may only read.
 */
export function seesHookSecrets(
  { grants, token }: { grants: readonly Grant[]; token: TokenLimits },
  scope: Scope,
): boolean {
  return can({ grants }, 'hook:edit', scope) && hasScope(token, 'hooks')
}

/** Restricted to organizations or projects: such a token never acts as instance administrator. */
export function isRestricted({ organization_ids, projects }: TokenLimits): boolean {
  return organization_ids !== null || projects !== null
}

/** What remains of a user's grants for a token: a grant on more than the listed projects becomes one on each of them. */
export function limitGrants(grants: readonly Grant[], limits: TokenLimits): Grant[] {
  const { organization_ids, projects } = limits
  const allowed = grants.filter((grant) => organization_ids?.includes(grant.organization_id) ?? true)
  if (projects === null) return allowed
  return allowed.flatMap((grant) =>
    projects
      .filter(({ organization_id }) => organization_id === grant.organization_id)
      .filter(({ id }) => grant.project_id === null || grant.project_id === id)
      .map(({ id }) => ({ ...grant, project_id: id })),
  )
}
