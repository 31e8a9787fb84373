import type { Selectable } from 'kysely'
import type { CredentialsTable, TokenTargets } from '#platform/database/tables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { generateKey, readPrivateKey } from './private-key.ts'
import type { CredentialChange, CredentialProvider } from './schemas.ts'

// The rules for a credential that a schema cannot express. Keys are parsed and generated here, because whether a
// key can be read is part of the answer.

export type StoredCredential = Pick<
  Selectable<CredentialsTable>,
  'name' | 'provider_code' | 'auth_type' | 'base_url' | 'username' | 'active' | 'token_targets' | 'ssh_hosts'
>

export type NormalizedCredential = StoredCredential & {
  /** The new secret; null removes it, undefined leaves it as it is. */
  secret: string | null | undefined
}

const NEEDS_BASE_URL: readonly CredentialProvider[] = ['gitea', 'git']
/** Chat services have nothing public. */
const NEEDS_TOKEN: readonly CredentialProvider[] = ['slack', 'discord']
/** Those whose commits presets report on. */
const HAS_SSH_HOSTS: readonly CredentialProvider[] = ['github', 'gitlab', 'gitea']
const HAS_USERNAME: readonly CredentialProvider[] = ['git', 'bitbucket']

const DEFAULTS = {
  ...({ base_url: null, username: null, active: true, ssh_hosts: [] } as const),
  token_targets: 'anywhere' as TokenTargets,
}

/** Input on top of what is stored → the columns to write, or every error at once. */
export function normalizeCredential(
  input: CredentialChange,
  stored?: StoredCredential,
): { kind: 'normalized'; credential: NormalizedCredential } | { kind: 'invalid'; errors: ErrorsByField } {
  const errors: ErrorsByField = {}
  const wanted = { ...DEFAULTS, ...stored, ...input }
  const { username, active, token_targets } = wanted
  const code = stored?.provider_code ?? input.provider_code!
  const base_url = normalizeBaseUrl(wanted.base_url, code, errors)
  if (username !== null && !HAS_USERNAME.includes(code)) {
    errors.username = [`is not used with ${code}, only with ${HAS_USERNAME.join(' and ')}`]
  }
  if (code === 'ssh' && token_targets === 'provider') errors.token_targets = ['is not used with ssh']
  const ssh_hosts = normalizeHosts(wanted.ssh_hosts, code, errors)
  const isRedirected = stored?.auth_type === 'token' && stored.base_url !== base_url && !errors.base_url
  if (NEEDS_TOKEN.includes(code) && (stored ? input.token === null : input.token == null))
    errors.token = [`is required for ${code}`]
  const secret =
    code === 'ssh' ? readKey(input, !stored, errors) : readToken(input, code, isRedirected, errors)
  if (wanted.provider_code !== code) {
    errors.provider_code = [`cannot be changed from ${code}; create another credential`]
  }
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  // A new credential without a token is for public repositories.
  const newSecret = stored || code === 'ssh' ? secret : (secret ?? null)
  const auth_type =
    newSecret === undefined
      ? stored!.auth_type
      : newSecret === null
        ? 'none'
        : code === 'ssh'
          ? 'key'
          : 'token'
  const columns = {
    ...({ name: wanted.name!, provider_code: code, auth_type } as const),
    ...{ base_url, username, active, token_targets, ssh_hosts },
  }
  return { kind: 'normalized', credential: { ...columns, secret: newSecret } }
}

function normalizeBaseUrl(text: string | null, code: CredentialProvider, errors: ErrorsByField) {
  const problem = checkBaseUrl(text, code)
  if (problem) errors.base_url = [problem]
  return problem || text === null ? null : new URL(text).href.replace(/\/+$/, '')
}

function checkBaseUrl(text: string | null, code: CredentialProvider): string | undefined {
  if (text === null) return NEEDS_BASE_URL.includes(code) ? `is required for ${code}` : undefined
  if (code === 'ssh') return 'is not used with ssh'
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (!url) return 'must be a URL that begins with https:// or http://'
  if (url.username !== '' || url.password !== '') return 'must not contain a username or a password'
  return /[?#]/.test(text) ? 'must not have a query or a fragment' : undefined
}

/** In lower case, each once, in one order. */
function normalizeHosts(hosts: readonly string[], code: CredentialProvider, errors: ErrorsByField): string[] {
  if (hosts.length > 0 && !HAS_SSH_HOSTS.includes(code))
    errors.ssh_hosts = [`is not used with ${code}, only with ${HAS_SSH_HOSTS.join(', ')}`]
  for (const [index, host] of hosts.entries())
    if (Number(/:([0-9]+)$/.exec(host)?.[1] ?? 1) > 65_535 || host.endsWith(':0'))
      errors[`ssh_hosts.${index}`] = ['must have a port between 1 and 65535']
  return [...new Set(hosts.map((host) => host.toLowerCase().replace(/\.(?=$|:)/, '')))].sort()
}

/**
 * Someone who may edit a credential need not know its token: `isRedirected` means that a new base_url would send
 * the stored token to another host.
 */
function readToken(
  input: CredentialChange,
  code: CredentialProvider,
  isRedirected: boolean,
  errors: ErrorsByField,
): string | null | undefined {
  for (const field of ['private_key', 'generate'] as const) {
    if (input[field] !== undefined) errors[field] = [`is only for ssh; ${code} takes a token`]
  }
  if (input.token === undefined && isRedirected) {
    errors.token = ['must be given again, because base_url would send it to another host than before']
  }
  return input.token
}

function readKey(input: CredentialChange, isNew: boolean, errors: ErrorsByField): string | undefined {
  const { token, private_key, generate } = input
  if (token != null) errors.token = ['is not used with ssh; send private_key or generate']
  if (private_key !== undefined && generate) errors.generate = ['cannot be combined with private_key']
  else if (private_key !== undefined) {
    const key = readPrivateKey(private_key)
    if (key.kind === 'key') return key.pair.privateKey
    errors.private_key = [key.message]
  } else if (generate) return generateKey().privateKey
  else if (isNew) errors.private_key = ['is required for ssh, unless generate is true']
  return undefined
}
