// What the form of a server holds, and what it sends. Pure.
import type { components } from '#client/index.ts'
import { changedFields } from '#web/base/form/changes.ts'

export type ServerRecord = components['schemas']['Server']
export type ServerBody = components['schemas']['CreateServerRequest']
export type ServerChange = components['schemas']['ChangeServerRequest']

/** Named like the fields of the API, so that its errors find their inputs. */
export type ServerValues = {
  provider_code: 'ssh' | 'local'
  name: string
  host: string
  /** Inputs of numbers hold an empty text while they are empty. */
  port: number | ''
  login_name: string
  /** The value of a select: the id as text; empty without one. */
  credential_id: string
  root_directory: string
  host_key: string
  /** Of a local server; empty without one. */
  worker_name: string
  max_parallel_actions: number | ''
}

export const SERVER_LABELS = {
  provider_code: 'Connection',
  login_name: 'Login',
  credential_id: 'SSH key',
  root_directory: 'Root directory',
  host_key: 'Host key',
  worker_name: 'Worker',
  max_parallel_actions: 'Max concurrent runs',
}

export const NEW_SERVER: ServerValues = {
  provider_code: 'ssh',
  name: '',
  host: '',
  port: 22,
  login_name: '',
  credential_id: '',
  root_directory: defaultRoot('ssh', ''),
  host_key: '',
  worker_name: '',
  max_parallel_actions: 1,
}

/** A folder that the account can write to without further setup. */
function defaultRoot(provider: ServerValues['provider_code'], login: string): string {
  if (provider === 'local' || login === '' || login === 'root') return '/srv/apps'
  return `/home/${login}/apps`
}

/** The values after a change of connection or login: the folder follows for as long as it is the default. */
export function withRoot(before: ServerValues, change: Partial<ServerValues>): ServerValues {
  const after = { ...before, ...change }
  const isDefault = before.root_directory === defaultRoot(before.provider_code, before.login_name.trim())
  if (!isDefault) return after
  return { ...after, root_directory: defaultRoot(after.provider_code, after.login_name.trim()) }
}

const ADDRESS = /^(?:ssh:\/\/)?(?:([^@\s/]+)@)?(\[[0-9a-f:.]+\]|[^:@\s/[\]]+)(?::(\d{1,5}))?\/?$/i

/** `deploy@web-1.example.com:2222`, as people copy it, becomes login, host and port. */
export function withAddress(values: ServerValues): ServerValues {
  const [, login, host, port] = ADDRESS.exec(values.host.trim()) ?? []
  if (host === undefined) return values
  const after = login === undefined ? values : withRoot(values, { login_name: login })
  return {
    ...after,
    host: host.replace(/^\[|\]$/g, ''),
    ...(port !== undefined && { port: Number(port) }),
  }
}

export function serverValues(server: ServerRecord): ServerValues {
  return {
    provider_code: server.provider_code === 'local' ? 'local' : 'ssh',
    name: server.name,
    host: server.host ?? '',
    port: server.port ?? 22,
    login_name: server.login_name ?? '',
    credential_id: server.credential_id === null ? '' : String(server.credential_id),
    root_directory: server.root_directory,
    host_key: server.host_key ?? '',
    worker_name: server.worker_name ?? '',
    max_parallel_actions: server.max_parallel_actions,
  }
}

export function serverBody(entered: ServerValues): ServerBody {
  const values = entered.provider_code === 'ssh' ? withAddress(entered) : entered
  const { name, provider_code, root_directory } = values
  const common = {
    name: name.trim(),
    provider_code,
    root_directory: root_directory.trim(),
    max_parallel_actions: values.max_parallel_actions === '' ? 1 : values.max_parallel_actions,
  }
  const worker_name = values.worker_name.trim()
  // Left out, the worker that is online gives the name.
  if (provider_code === 'local') return worker_name === '' ? common : { ...common, worker_name }
  return {
    ...common,
    host: values.host.trim() || null,
    port: values.port === '' ? null : values.port,
    login_name: values.login_name.trim() || null,
    credential_id: values.credential_id === '' ? null : Number(values.credential_id),
    host_key: values.host_key.trim() || null,
  }
}

/** Only what was changed: a new host clears the pinned key unless one is sent. */
export function serverChange(base: ServerValues, values: ServerValues): ServerChange {
  const { provider_code: _, ...change } = changedFields(serverBody(base), serverBody(values))
  const isCleared = base.worker_name.trim() !== '' && values.worker_name.trim() === ''
  return isCleared ? { ...change, worker_name: null } : change
}

/** `deploy@web-1.example.com`. Pure. */
export function connectionOf(
  server: Pick<ServerRecord, 'provider_code' | 'host' | 'port' | 'login_name'>,
): string {
  const { provider_code, host, port, login_name } = server
  if (provider_code === 'local') return 'This machine'
  return `${login_name}@${host}${port === 22 ? '' : `:${port}`}`
}
