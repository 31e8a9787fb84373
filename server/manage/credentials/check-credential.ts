import type { ErrorsByField } from '#platform/http/validation.ts'
import { generateKey, type KeyPair, readPrivateKey } from './private-key.ts'
import type { CredentialBody, CredentialChange, CredentialProvider } from './schemas.ts'

// What a schema cannot say about a credential: a wish, on top of what is stored → its faults, all at once, or the
// columns to write. Keys are read and made here because whether one can be read is part of the answer.

export type StoredCredential = {
  name: string
  provider_code: CredentialProvider
  auth_type: 'token' | 'key' | 'none'
  base_url: string | null
  username: string | null
  active: boolean
}

export type Settled = StoredCredential & {
  /** The new secret; null: it is to have none; undefined: it keeps the one it has. */
  secret: string | null | undefined
}

export type SettledWish = { kind: 'settled'; settled: Settled } | { kind: 'invalid'; errors: ErrorsByField }

const NEEDS_BASE_URL: readonly CredentialProvider[] = ['gitea', 'git']
const HAS_USERNAME: readonly CredentialProvider[] = ['git', 'bitbucket']

export function settleNew(wish: CredentialBody): SettledWish {
  return settle(wish, wish.provider_code, undefined)
}

export function settleChange(wish: CredentialChange, stored: StoredCredential): SettledWish {
  const settled = settle(wish, stored.provider_code, stored)
  const { provider_code: code } = wish
  if (code === undefined || code === stored.provider_code) return settled
  const errors = settled.kind === 'invalid' ? settled.errors : {}
  errors.provider_code = [`cannot be changed from ${stored.provider_code}: make another credential`]
  return { kind: 'invalid', errors }
}

function settle(
  wish: CredentialChange,
  code: CredentialProvider,
  stored: StoredCredential | undefined,
): SettledWish {
  const errors: ErrorsByField = {}
  const baseUrl = settleBaseUrl(wish, code, stored, errors)
  const username = wish.username === undefined ? (stored?.username ?? null) : wish.username
  if (username !== null && !HAS_USERNAME.includes(code)) {
    errors.username = [`is not used with ${code}: only with ${HAS_USERNAME.join(' and ')}`]
  }
  const secret =
    code === 'ssh' ? settleKey(wish, stored, errors) : settleToken(wish, code, stored, baseUrl, errors)
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  return {
    kind: 'settled',
    settled: {
      name: wish.name ?? stored!.name,
      provider_code: code,
      auth_type: code === 'ssh' ? 'key' : authType(secret, stored),
      base_url: baseUrl,
      username,
      active: wish.active ?? stored?.active ?? true,
      secret,
    },
  }
}

function authType(secret: string | null | undefined, stored: StoredCredential | undefined): 'token' | 'none' {
  if (secret === undefined) return stored?.auth_type === 'token' ? 'token' : 'none'
  return secret === null ? 'none' : 'token'
}

function settleBaseUrl(
  wish: CredentialChange,
  code: CredentialProvider,
  stored: StoredCredential | undefined,
  errors: ErrorsByField,
): string | null {
  const given = wish.base_url === undefined ? (stored?.base_url ?? null) : wish.base_url
  if (given === null) {
    if (NEEDS_BASE_URL.includes(code)) errors.base_url = [`is required for ${code}`]
    return null
  }
  if (code === 'ssh') {
    errors.base_url = ['is not used with ssh']
    return null
  }
  const read = readBaseUrl(given)
  if (read.kind === 'fault') errors.base_url = [read.message]
  return read.kind === 'fault' ? null : read.url
}

type ReadBaseUrl = { kind: 'url'; url: string } | { kind: 'fault'; message: string }

function readBaseUrl(text: string): ReadBaseUrl {
  const fault = (message: string): ReadBaseUrl => ({ kind: 'fault', message })
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    return fault('must be an address that begins with https:// or http://')
  }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return fault('must not hold a name or a password')
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text)) return fault('must end with its path')
  return { kind: 'url', url: url.href.replace(/\/+$/, '') }
}

/**
 * Whoever may edit a credential need not know its token; one that moved to another host along with the base_url
 * would be told to that host.
 */
function settleToken(
  wish: CredentialChange,
  code: CredentialProvider,
  stored: StoredCredential | undefined,
  baseUrl: string | null,
  errors: ErrorsByField,
): string | null | undefined {
  for (const field of ['private_key', 'generate'] as const) {
    if (wish[field] !== undefined) errors[field] = [`is only for ssh: ${code} takes a token`]
  }
  if (wish.token !== undefined) return wish.token
  if (!stored) return null
  if (stored.auth_type === 'token' && stored.base_url !== baseUrl && !errors.base_url) {
    errors.token = ['must be given again, because it would be sent to another base_url than before']
  }
  return undefined
}

function settleKey(
  wish: CredentialChange,
  stored: StoredCredential | undefined,
  errors: ErrorsByField,
): string | undefined {
  if (wish.token != null) errors.token = ['is not used with ssh: give private_key, or generate']
  if (wish.private_key !== undefined && wish.generate) {
    errors.generate = ['makes a key, so private_key must be left out']
    return undefined
  }
  const made = wish.generate ? generateKey('gantry') : readGiven(wish.private_key, errors)
  if (!made && !stored && !errors.private_key) {
    errors.private_key = ['is required for ssh, unless generate is true']
  }
  return made?.privateKey
}

function readGiven(text: string | undefined, errors: ErrorsByField): KeyPair | undefined {
  if (text === undefined) return undefined
  const read = readPrivateKey(text)
  if (read.kind === 'key') return read.pair
  errors.private_key = [read.message]
  return undefined
}
