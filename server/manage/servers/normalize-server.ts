import { isIP } from 'node:net'
import { posix } from 'node:path'
import type { Selectable } from 'kysely'
import { formatHostKey, parseHostKey, readKnownHost } from '#adapters/executors/host-key.ts'
import type { ServersTable } from '#platform/database/tables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { ServerChange } from './schemas.ts'

// The rules for a server that a schema cannot express. Pure.

const NO_SSH = { host: null, port: null, login_name: null, credential_id: null, host_key: null }
const SSH_FIELDS = ['host', 'port', 'login_name', 'credential_id', 'host_key'] as const
export const SERVER_FIELDS = [
  'name',
  'provider_code',
  ...SSH_FIELDS,
  'root_directory',
  'worker_name',
  'max_parallel_actions',
] as const

export type ServerColumns = Pick<Selectable<ServersTable>, (typeof SERVER_FIELDS)[number]>
export type NormalizedServer = { columns: ServerColumns; errors: ErrorsByField }

type SshColumns = Pick<ServerColumns, (typeof SSH_FIELDS)[number]>

const DEFAULT_PORT = 22

/** Input on top of what is stored → the columns to write, and every error at once. */
export function normalizeServer(input: ServerChange, stored?: ServerColumns): NormalizedServer {
  const errors: ErrorsByField = {}
  const code = stored?.provider_code ?? input.provider_code!
  if ((input.provider_code ?? code) !== code) {
    errors.provider_code = [`cannot be changed from ${code}; create another server`]
  }
  const columns: ServerColumns = {
    name: input.name ?? stored!.name,
    provider_code: code,
    ...(code === 'ssh' ? normalizeSsh(input, stored, errors) : NO_SSH),
    root_directory: normalizeRoot(input.root_directory, errors) ?? stored!.root_directory,
    worker_name: code === 'local' ? orStored(input.worker_name, stored?.worker_name) : null,
    max_parallel_actions: input.max_parallel_actions ?? stored?.max_parallel_actions ?? 1,
  }
  if (code === 'local') {
    for (const field of SSH_FIELDS)
      if (input[field] != null) errors[field] = ['is not used with local servers']
  }
  if (code === 'ssh' && input.worker_name != null) errors.worker_name = ['is used only with local servers']
  return { columns, errors }
}

/** Null is a value: it removes what is stored. */
function orStored<Value>(given: Value | null | undefined, stored: Value | null = null): Value | null {
  return given === undefined ? stored : given
}

/** Another key, or another destination for the same key: both count as using the credential. */
export function usesKeyAnew(columns: ServerColumns, stored: ServerColumns | undefined): boolean {
  if (columns.credential_id === null) return false
  return (['credential_id', 'host', 'port', 'login_name'] as const).some(
    (field) => columns[field] !== stored?.[field],
  )
}

function normalizeSsh(input: ServerChange, stored: ServerColumns | undefined, errors: ErrorsByField) {
  const wanted: SshColumns = { ...NO_SSH, ...stored, ...input }
  const { host, login_name, credential_id } = wanted
  const port = wanted.port ?? DEFAULT_PORT
  if (host === null) errors.host = ['is required for ssh']
  else if (host.includes(':') && isIP(host) !== 6) errors.host = ['must be a host name or an IP address']
  if (login_name === null) errors.login_name = ['is required for ssh']
  const hasMoved = stored !== undefined && (stored.host !== host || stored.port !== port)
  const unchangedKey = hasMoved ? null : (stored?.host_key ?? null)
  const host_key = input.host_key === undefined ? unchangedKey : normalizeHostKey(input.host_key, errors)
  return { host, port, login_name, credential_id, host_key }
}

/** A key is stored without its comment, a fingerprint as it is. */
function normalizeHostKey(text: string | null, errors: ErrorsByField): string | null {
  if (text === null) return null
  const trimmed = text.trim()
  if (!readKnownHost(trimmed)) {
    errors.host_key = [
      'must be a public key such as "ssh-ed25519 AAAA…", or a fingerprint such as "SHA256:…"',
    ]
    return null
  }
  const key = parseHostKey(trimmed)
  return key ? formatHostKey(key.blob) : trimmed
}

function normalizeRoot(path: string | undefined, errors: ErrorsByField): string | undefined {
  if (path === undefined) return undefined
  const normalized = posix.normalize(path).replace(/\/+$/, '')
  if (path.split('/').includes('..')) errors.root_directory = ['must not contain ..']
  else if (normalized === '') errors.root_directory = ['must be a folder below /']
  return normalized || '/'
}
