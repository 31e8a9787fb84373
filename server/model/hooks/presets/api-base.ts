/** A credential, as far as it decides where its token goes. */
export type TokenOwner = { provider: string; baseUrl: string | null }

export const PUBLIC_APIS: Record<string, string> = {
  github: 'https://api.github.com',
  gitlab: 'https://gitlab.com',
  bitbucket: 'https://api.bitbucket.org',
  slack: 'https://slack.com',
  discord: 'https://discord.com',
}

/** Where the API of a provider is, without a slash at the end. */
export function apiBase({ provider, baseUrl }: TokenOwner): string {
  const home = baseUrl ?? PUBLIC_APIS[provider] ?? ''
  if (provider !== 'github') return home
  const host = URL.parse(baseUrl ?? '')?.host
  if (host === undefined || host === 'github.com' || host === 'api.github.com') return PUBLIC_APIS.github!
  // GitHub Enterprise Cloud with data residency has its API on another host; a server of one's own has not.
  return host.endsWith('.ghe.com') && !host.startsWith('api.') ? `https://api.${host}` : `${home}/api/v3`
}
