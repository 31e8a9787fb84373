import type { Config } from '#platform/config.ts'
import type { GroupRoles, MappedRole } from '#platform/oidc-settings.ts'
import type { ProviderSettings } from './provider.ts'

export type SingleSignOnConfig = Pick<
  Config,
  | 'passwordLogin'
  | 'oidcIssuer'
  | 'oidcClientId'
  | 'oidcClientSecret'
  | 'oidcLabel'
  | 'oidcGroupsClaim'
  | 'oidcGroupRoles'
  | 'oidcSignup'
  | 'oidcTrustEmail'
>

export type SingleSignOnSettings = ProviderSettings & { label: string; signup: boolean; trustEmail: boolean }

/** Pure: null when single sign-on is off. The three settings of the client come together or not at all. */
export function singleSignOnOf(config: SingleSignOnConfig): SingleSignOnSettings | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return null
  const { oidcGroupsClaim: groupsClaim, oidcLabel: label } = config
  const { oidcSignup: signup, oidcTrustEmail: trustEmail } = config
  return { issuer, clientId, clientSecret, groupsClaim, label, signup, trustEmail }
}

/** Pure: the roles that members of these groups get. */
export function rolesOf(groupRoles: GroupRoles, groups: readonly string[]): MappedRole[] {
  return [...new Set(groups)].flatMap((group) => groupRoles.get(group) ?? [])
}
