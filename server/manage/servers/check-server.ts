import { isIP } from 'node:net'
import { posix } from 'node:path'
import type { Selectable } from 'kysely'
import { formatHostKey, parseHostKey, readKnownHost } from '#adapters/executors/host-key.ts'
import type { ServersTable } from '#platform/database/tables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { ServerBody, ServerChange, ServerProvider } from './schemas.ts'

// What a schema cannot say about a server. Pure: a wish, on top of what is stored → the columns to write, and the
// faults, all at once.

export type ServerColumns = Pick<
  Selectable<ServersTable>,
  | 'name'
  | 'provider_code'
  | 'host'
  | 'port'
  | 'login_name'
  | 'credential_id'
  | 'host_key'
  | 'root_directory'
  | 'max_parallel_actions'
>

export type Settled = { columns: ServerColumns; errors: ErrorsByField }

const ONLY_SSH = ['host', 'port', 'login_name', 'credential_id', 'host_key'] as const
const DEFAULT_PORT = 22

export function settleNew(wish: ServerBody): Settled {
  return settle(wish, wish.provider_code, undefined)
}

export function settleChange(wish: ServerChange, stored: ServerColumns): Settled {
  const settled = settle(wish, stored.provider_code, stored)
  const { provider_code: code } = wish
  if (code !== undefined && code !== stored.provider_code) {
    settled.errors.provider_code = [`cannot be changed from ${stored.provider_code}: make another server`]
  }
  return settled
}

/** Another place for the key to be used at, or another key: that is to use it. */
export function usesKeyAnew(columns: ServerColumns, stored: ServerColumns | undefined): boolean {
  if (columns.credential_id === null) return false
  return (['credential_id', 'host', 'port', 'login_name'] as const).some(
    (field) => columns[field] !== stored?.[field],
  )
}

function settle(wish: ServerChange, code: ServerProvider, stored: ServerColumns | undefined): Settled {
  const errors: ErrorsByField = {}
  const own = code === 'ssh' ? settleSsh(wish, stored, errors) : settleLocal(wish, errors)
  const columns: ServerColumns = {
    name: wish.name ?? stored!.name,
    provider_code: code,
    ...own,
    root_directory: settleRoot(wish.root_directory, stored, errors),
    max_parallel_actions: wish.max_parallel_actions ?? stored?.max_parallel_actions ?? 1,
  }
  return { columns, errors }
}

type OnlySsh = Pick<ServerColumns, (typeof ONLY_SSH)[number]>

function settleLocal(wish: ServerChange, errors: ErrorsByField): OnlySsh {
  for (const field of ONLY_SSH) if (wish[field] != null) errors[field] = ['is not used with local servers']
  return { host: null, port: null, login_name: null, credential_id: null, host_key: null }
}

function settleSsh(wish: ServerChange, stored: ServerColumns | undefined, errors: ErrorsByField): OnlySsh {
  const host = settleHost(wish.host === undefined ? (stored?.host ?? null) : wish.host, errors)
  const port = wish.port === undefined ? (stored?.port ?? DEFAULT_PORT) : (wish.port ?? DEFAULT_PORT)
  const loginName = wish.login_name === undefined ? (stored?.login_name ?? null) : wish.login_name
  if (loginName === null) errors.login_name = ['is required for ssh']
  const hasMoved = stored !== undefined && (stored.host !== host || stored.port !== port)
  const kept = hasMoved ? null : (stored?.host_key ?? null)
  return {
    host,
    port,
    login_name: loginName,
    credential_id: wish.credential_id === undefined ? (stored?.credential_id ?? null) : wish.credential_id,
    host_key: wish.host_key === undefined ? kept : settleHostKey(wish.host_key, errors),
  }
}

function settleHost(host: string | null, errors: ErrorsByField): string | null {
  if (host === null) errors.host = ['is required for ssh']
  else if (host.includes(':') && isIP(host) !== 6)
    errors.host = ['must be the name or the IP address of a host']
  return host
}

/** A key is stored without its comment; a fingerprint as it is. */
function settleHostKey(text: string | null, errors: ErrorsByField): string | null {
  if (text === null) return null
  const plain = text.trim()
  if (!readKnownHost(plain)) {
    errors.host_key = [
      'must be a public key such as "ssh-ed25519 AAAA…", or a fingerprint such as "SHA256:…"',
    ]
    return null
  }
  const key = parseHostKey(plain)
  return key ? formatHostKey(key.blob) : plain
}

function settleRoot(
  wished: string | undefined,
  stored: ServerColumns | undefined,
  errors: ErrorsByField,
): string {
  if (wished === undefined) return stored!.root_directory
  const path = posix.normalize(wished).replace(/\/+$/, '')
  if (wished.split('/').includes('..')) errors.root_directory = ['must not contain ..']
  else if (path === '') errors.root_directory = ['must be a folder below /']
  return path === '' ? '/' : path
}
