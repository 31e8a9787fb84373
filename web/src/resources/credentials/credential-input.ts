// What the form of a credential holds, and what it sends. Pure.
import type { components } from '#client/index.ts'
import { changedFields } from '#web/base/form/changes.ts'
import type { Credential } from './credentials.ts'

export type CredentialBody = components['schemas']['CreateCredentialRequest']
export type CredentialChange = components['schemas']['ChangeCredentialRequest']
export type Provider = CredentialBody['provider_code']

/** Named like the fields of the API, so that its errors find their inputs. */
export type CredentialValues = {
  provider_code: Provider
  name: string
  base_url: string
  username: string
  token: string
  private_key: string
  /** Whether Gantry generates the key. */
  generate: boolean
  active: boolean
  token_targets: NonNullable<CredentialBody['token_targets']>
  ssh_hosts: string[]
  /** Whether hooks that send the token elsewhere are to stop; no field of the credential. */
  stop_hooks: boolean
}

export const CREDENTIAL_LABELS = {
  provider_code: 'Provider',
  base_url: 'URL',
  ssh_hosts: 'Other hosts',
  token_targets: 'Hooks may send it',
}

export const SECRET_FIELDS = ['token', 'private_key'] as const

type ProviderFields = {
  label: string
  host?: string
  url: 'required' | 'optional' | 'none'
  hasUsername: boolean
  /** Hooks report on the commits of its repositories. */
  hasStatuses?: true
  /** What people find in the settings of the provider. */
  tokenHint?: string
}

export const PROVIDERS: Record<Provider, ProviderFields> = {
  github: {
    label: 'GitHub',
    host: 'github.com',
    url: 'optional',
    hasUsername: false,
    hasStatuses: true,
    tokenHint:
      'A fine-grained token with read access to contents. To report statuses, also write access to commit statuses.',
  },
  gitlab: {
    label: 'GitLab',
    host: 'gitlab.com',
    url: 'optional',
    hasUsername: false,
    hasStatuses: true,
    tokenHint: 'A project or personal access token with the scopes read_repository and api.',
  },
  bitbucket: {
    label: 'Bitbucket',
    host: 'bitbucket.org',
    url: 'optional',
    hasUsername: true,
    tokenHint: 'An API token or app password with read access to repositories.',
  },
  gitea: {
    label: 'Gitea or Forgejo',
    url: 'required',
    hasUsername: false,
    hasStatuses: true,
    tokenHint: 'A token with read access to repositories; to report statuses, with write access.',
  },
  git: { label: 'Another git host', url: 'required', hasUsername: true },
  ssh: { label: 'SSH key', url: 'none', hasUsername: false },
  slack: {
    label: 'Slack',
    url: 'optional',
    hasUsername: false,
    tokenHint: 'The bot token of a Slack app (xoxb-…) with the scope chat:write, for notifications.',
  },
  discord: {
    label: 'Discord',
    url: 'optional',
    hasUsername: false,
    tokenHint: 'The token of a bot that may view the channel and send messages there, for notifications.',
  },
}

const CHAT: readonly string[] = ['slack', 'discord']

export const isChat = (provider: string) => CHAT.includes(provider)

/** Those that repositories are read with. */
export const SOURCE_PROVIDERS = (Object.keys(PROVIDERS) as Provider[]).filter((code) => !isChat(code))

/** Those whose token a hook can send. */
export const TOKEN_PROVIDERS = (Object.keys(PROVIDERS) as Provider[]).filter((code) => code !== 'ssh')

export function newCredential(provider: Provider): CredentialValues {
  return {
    provider_code: provider,
    name: PROVIDERS[provider].label,
    base_url: '',
    username: '',
    token: '',
    private_key: '',
    generate: true,
    active: true,
    token_targets: 'anywhere',
    ssh_hosts: [],
    stop_hooks: false,
  }
}

/** The name follows the provider until the person writes one. */
export function withProvider(before: CredentialValues, provider: Provider): CredentialValues {
  const isUnnamed = before.name === PROVIDERS[before.provider_code].label
  return {
    ...before,
    provider_code: provider,
    name: isUnnamed ? PROVIDERS[provider].label : before.name,
  }
}

/** A guess for a repository: `git@github.com:acme/shop.git` is at GitHub. */
export function providerOf(repository: string): { provider: Provider; base_url: string } {
  const host = /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^/:]+)/i.exec(repository.trim())?.[1]?.toLowerCase() ?? ''
  if (/^(ssh:\/\/|[^/@]+@)/i.test(repository.trim())) return { provider: 'ssh', base_url: '' }
  const known = (Object.keys(PROVIDERS) as Provider[]).find((code) => PROVIDERS[code].host === host)
  if (known) return { provider: known, base_url: '' }
  const url = /^https?:\/\//i.test(repository.trim()) ? URL.parse(repository.trim()) : null
  return url ? { provider: 'git', base_url: url.origin } : { provider: 'github', base_url: '' }
}

/** The one active credential of the host that a repository is at; undefined without one, and where there are several. */
export function credentialFor<One extends Pick<Credential, 'provider' | 'base_url' | 'active'>>(
  repository: string,
  credentials: readonly One[],
): One | undefined {
  const url = URL.parse(repository.trim())
  if (!url || !/^https?:$/.test(url.protocol)) return undefined
  const fitting = credentials.filter(({ provider, base_url, active }) => {
    const code = provider.code as Provider
    const host = base_url ? URL.parse(base_url)?.host : PROVIDERS[code]?.host
    return active && SOURCE_PROVIDERS.includes(code) && host === url.host
  })
  return fitting.length === 1 ? fitting[0] : undefined
}

export function credentialValues(credential: Credential): CredentialValues {
  return {
    provider_code: credential.provider.code as Provider,
    name: credential.name,
    base_url: credential.base_url ?? '',
    username: credential.username ?? '',
    token: '',
    private_key: '',
    generate: false,
    active: credential.active,
    token_targets: credential.token_targets,
    ssh_hosts: credential.ssh_hosts,
    stop_hooks: false,
  }
}

/** Only the fields that the provider has. */
function shared(values: CredentialValues) {
  const { provider_code, name, base_url, username, active, token_targets, ssh_hosts } = values
  const { url, hasUsername, hasStatuses } = PROVIDERS[provider_code]
  return {
    name: name.trim(),
    ...(url === 'none' ? {} : { base_url: base_url.trim() || null }),
    ...(hasUsername ? { username: username.trim() || null } : {}),
    ...(provider_code === 'ssh' ? {} : { token_targets }),
    ...(hasStatuses ? { ssh_hosts } : {}),
    active,
  }
}

export function credentialBody(values: CredentialValues): CredentialBody {
  const { provider_code, token, private_key, generate } = values
  const secret =
    provider_code === 'ssh'
      ? generate
        ? { generate: true }
        : { private_key }
      : { token: token.trim() || null }
  return { provider_code, ...shared(values), ...secret }
}

/** A secret that was not typed stays as it is. */
export function credentialChange(base: CredentialValues, values: CredentialValues): CredentialChange {
  const change: CredentialChange = changedFields(shared(base), shared(values))
  if (values.token.trim() !== '') change.token = values.token.trim()
  if (values.private_key.trim() !== '') change.private_key = values.private_key
  else if (values.generate) change.generate = true
  return change
}
