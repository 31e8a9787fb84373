// Everything that can be set from outside, in one schema. `readConfig` checks all of it at once; the
// table in docs/configuration.md is generated from `settings` (scripts/configuration-table.ts); a test compares the two.
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { decodeKeys } from '#platform/crypto/master-key.ts'

type Setting<Value> = {
  variable: string
  about: string
  /** How the default reads in the README. */
  shown: string
  read(text: string | undefined): Value
}

class Fault extends Error {}

const MIB = 1024 * 1024

export const settings = {
  port: integer('PORT', 'Port of the API; 0 takes any free one', { fallback: 7070, min: 0, max: 65_535 }),
  host: setting('HOST', 'Address to listen on', '127.0.0.1', host),
  publicUrl: setting(
    'GANTRY_URL',
    'Public base address, used in hook URLs and links',
    'from HOST and PORT',
    baseUrl,
  ),
  home: setting('GANTRY_HOME', 'Folder of the database, the repositories and the key', './data', (value) =>
    resolve(value ?? 'data'),
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    'A PostgreSQL 18 server of your own',
    'unset: the embedded one',
    postgresUrl,
  ),
  role: oneOf('GANTRY_ROLE', 'What this process does (`api` and `worker` need DATABASE_URL)', [
    'all',
    'api',
    'worker',
  ]),
  adminEmail: setting('GANTRY_ADMIN_EMAIL', 'E-mail address of the first user', 'admin@example.com', email),
  adminPassword: setting(
    'GANTRY_ADMIN_PASSWORD',
    'Password of the first user, 8 characters or more',
    'generated and printed once',
    password,
  ),
  secretKey: setting(
    'GANTRY_SECRET_KEY',
    'Key that seals secrets: 64 hex characters, or 32 bytes as base64',
    'a file under GANTRY_HOME',
    secretKey,
  ),
  allowTargets: setting(
    'GANTRY_ALLOW_TARGETS',
    'Private hosts or CIDRs that outgoing calls may reach, comma-separated',
    'none',
    targets,
  ),
  trustProxy: setting(
    'GANTRY_TRUST_PROXY',
    'CIDRs of proxies whose forwarding headers count, comma-separated',
    'none',
    cidrs,
  ),
  sample: truth('GANTRY_SAMPLE', 'Create a sample organization at the first start', true),
  maxPayload: integer('GANTRY_MAX_PAYLOAD', 'Largest hook payload in bytes', {
    fallback: MIB,
    min: 1024,
    max: 25 * MIB,
  }),
  keepBodiesDays: integer('GANTRY_KEEP_BODIES_DAYS', 'Days for which bodies of hook requests are kept', {
    fallback: 30,
    min: 1,
    max: 3650,
  }),
  logLevel: oneOf('LOG_LEVEL', 'How much is logged', [
    'info',
    'fatal',
    'error',
    'warn',
    'debug',
    'trace',
    'silent',
  ]),
  databaseConnections: integer(
    'GANTRY_DATABASE_CONNECTIONS',
    'Connections for requests; the queue and notifications open up to six more',
    {
      fallback: 10,
      min: 2,
      max: 200,
    },
  ),
  accessTokenMinutes: integer('GANTRY_ACCESS_TOKEN_MINUTES', 'Life of an access token', {
    fallback: 720,
    min: 1,
    max: 43_200,
  }),
  refreshTokenDays: integer('GANTRY_REFRESH_TOKEN_DAYS', 'Life of a refresh token', {
    fallback: 30,
    min: 1,
    max: 365,
  }),
  requestTimeoutMs: integer('GANTRY_REQUEST_TIMEOUT_MS', 'Time in which a request must have arrived whole', {
    fallback: 30_000,
    min: 100,
    max: 600_000,
  }),
  heartbeatSeconds: integer('GANTRY_HEARTBEAT_SECONDS', 'A worker silent for this long loses its jobs', {
    fallback: 20,
    min: 10,
    max: 60,
  }),
  pollMs: integer('GANTRY_POLL_MS', 'Longest wait for work when no notification comes', {
    fallback: 5_000,
    min: 50,
    max: 60_000,
  }),
  deliveryPollMs: integer('GANTRY_DELIVERY_POLL_MS', 'Longest wait for a delivery that is due again', {
    fallback: 1_000,
    min: 50,
    max: 60_000,
  }),
  stopGraceMs: integer('GANTRY_STOP_GRACE_MS', 'Time that running work has to end when stopping', {
    fallback: 10_000,
    min: 0,
    max: 10_000,
  }),
} satisfies Record<string, Setting<unknown>>

export type Config = { [Key in keyof typeof settings]: ReturnType<(typeof settings)[Key]['read']> }

export class ConfigError extends Error {}

/** Reads the environment; an empty variable counts as unset. Throws one error that lists every fault. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const faults: string[] = []
  const config: Record<string, unknown> = {}
  for (const [key, { variable, read }] of Object.entries(settings)) {
    try {
      config[key] = read(environment[variable] || undefined)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      faults.push(`${variable} ${error.message}`)
    }
  }
  if (config.role !== 'all' && config.role !== undefined && !environment.DATABASE_URL) {
    faults.push(`GANTRY_ROLE=${config.role} needs DATABASE_URL: several processes share one database server`)
  }
  if (faults.length > 0) {
    throw new ConfigError(
      `The configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    )
  }
  return config as Config
}

/**
 * Where others find the service, as far as the rules for outgoing calls go: one that listens on every address is not
 * somebody's own machine, although `localhost` leads to it.
 */
export function reachedAt({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>, baseUrl: string): string {
  const everywhere = ['0.0.0.0', '::', '[::]'].includes(host)
  return publicUrl === undefined && everywhere ? 'http://0.0.0.0' : baseUrl
}

/** The address under which people and senders reach this service. */
export function baseAddress(config: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  if (config.publicUrl !== undefined) return config.publicUrl
  const host = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function setting<Value>(
  variable: string,
  about: string,
  shown: string,
  read: (text: string | undefined) => Value,
): Setting<Value> {
  return { variable, about, shown, read }
}

function integer(
  variable: string,
  about: string,
  { fallback, min, max }: { fallback: number; min: number; max: number },
): Setting<number> {
  return setting(variable, `${about} (${min}–${max})`, String(fallback), (value) => {
    if (value === undefined) return fallback
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max)) throw new Fault(`must be a whole number from ${min} to ${max}`)
    return number
  })
}

function oneOf<const Value extends string>(
  variable: string,
  about: string,
  [fallback, ...others]: readonly [Value, ...Value[]],
): Setting<Value> {
  const values: readonly Value[] = [fallback, ...others]
  return setting(variable, `${about}: ${values.join(', ')}`, fallback, (value) => {
    if (value === undefined) return fallback
    const known = values.find((one) => one === value)
    if (known === undefined) throw new Fault(`must be one of ${values.join(', ')}`)
    return known
  })
}

function truth(variable: string, about: string, fallback: boolean): Setting<boolean> {
  return setting(variable, about, String(fallback), (value) => {
    if (value === undefined) return fallback
    if (value !== 'true' && value !== 'false') throw new Fault('must be true or false')
    return value === 'true'
  })
}

function host(value: string | undefined): string {
  const address = value ?? '127.0.0.1'
  if (!ipaddr.isValid(address) && !isHostName(address)) throw new Fault('must be an address or a host name')
  return address
}

function isHostName(text: string): boolean {
  return text.length <= 253 && /^\w([\w-]{0,61}\w)?(\.\w([\w-]{0,61}\w)?)*\.?$/.test(text)
}

function baseUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const url = URL.parse(value)
  const plain = url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password
  if (!plain || url.search || url.hash)
    throw new Fault('must be an http or https address without query, such as https://gantry.example.com')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

function postgresUrl(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const url = URL.parse(value)
  if (!url || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    throw new Fault('must be a postgres:// address')
  }
  return value
}

function email(value: string | undefined): string {
  const address = value ?? 'admin@example.com'
  if (!/^[^\s@]+@[^\s@]+$/.test(address) || address.length > 255) throw new Fault('must be an e-mail address')
  return address
}

function password(value: string | undefined): string | undefined {
  if (value !== undefined && (value.length < 8 || value.length > 255))
    throw new Fault('must have 8 to 255 characters')
  return value
}

function secretKey(value: string | undefined): string | undefined {
  if (value !== undefined && !decodeKeys(value))
    throw new Fault('must be 64 hex characters, or 32 bytes as base64; older keys may follow, after commas')
  return value
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function targets(value: string | undefined): string[] {
  const parts = list(value)
  const wrong = parts.filter((part) => !isNetwork(part) && !isHostName(part))
  if (wrong.length > 0) throw new Fault(`must list hosts, addresses or CIDRs; not one: ${wrong.join(', ')}`)
  return parts
}

function cidrs(value: string | undefined): string[] {
  const parts = list(value)
  const wrong = parts.filter((part) => !isNetwork(part))
  if (wrong.length > 0) throw new Fault(`must list addresses or CIDRs; not one: ${wrong.join(', ')}`)
  return parts
}

function isNetwork(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text)
}
