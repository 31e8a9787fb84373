// Every setting of the service, in one table. `readConfig` validates all of them at once; the table in
// docs/configuration.md is generated from `settings` (scripts/configuration-table.ts), which a test enforces.
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { decodeKeys } from '#platform/crypto/master-key.ts'
import { type GroupRoles, isIssuer, parseGroupRoles } from '#platform/oidc-settings.ts'

type Setting<Value> = {
  variable: string
  about: string
  /** The default as shown in the documentation. */
  shown: string
  read(text: string | undefined): Value
}

class InvalidSetting extends Error {}

const WORKER_NAME = /^\w[\w.-]{0,252}$/

const MIB = 1024 * 1024
const GIB = 1024 * MIB

export const settings = {
  port: integer('PORT', 'Port of the API; 0 picks any free port', 7070, [0, 65_535]),
  host: setting(
    'HOST',
    'Address to listen on',
    '127.0.0.1',
    valid((text) => ipaddr.isValid(text) || isHostName(text), 'must be an IP address or a host name'),
  ),
  publicUrl: optional(
    'GANTRY_URL',
    'Public base URL, used in hook URLs and links',
    'from HOST and PORT',
    baseUrl,
  ),
  home: setting('GANTRY_HOME', 'Folder for the database, the repositories and the key', './data', resolve),
  databaseUrl: optional(
    'DATABASE_URL',
    'Your own PostgreSQL server (15 to 18)',
    'unset: the embedded server',
    valid(
      isPostgresUrl,
      'must be a postgres:// URL, with special characters of the password percent-encoded',
    ),
  ),
  role: oneOf('GANTRY_ROLE', 'What this process runs (`api` and `worker` require DATABASE_URL)', [
    'all',
    'api',
    'worker',
  ]),
  workerName: {
    ...setting(
      'GANTRY_WORKER_NAME',
      'Name of this machine among the workers; local servers run only on workers of their name',
      workerNameOf(hostname()),
      valid(
        (text) => WORKER_NAME.test(text),
        'must have 1 to 253 letters, digits or any of - . _ and start with a letter, a digit or _',
      ),
    ),
    shown: 'the host name',
  },
  workerPort: optionalInteger(
    'GANTRY_WORKER_PORT',
    'Port of `/healthz`, `/readyz` and `/metrics` of a process with GANTRY_ROLE=worker; 0 picks any free port',
    'unset: none',
    [0, 65_535],
  ),
  targetsPerWorker: integer(
    'GANTRY_TARGETS_PER_WORKER',
    'Targets that one process runs at the same time',
    32,
    [1, 1_000],
  ),
  drainSeconds: integer(
    'GANTRY_DRAIN_SECONDS',
    'After SIGTERM, how long running steps may take to end before they are interrupted; 0 stops within seconds',
    0,
    [0, 86_400],
  ),
  adminEmail: setting(
    'GANTRY_ADMIN_EMAIL',
    'Email address of the first user',
    'admin@example.com',
    valid((text) => /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= 255, 'must be an email address'),
  ),
  adminPassword: optional(
    'GANTRY_ADMIN_PASSWORD',
    'Password of the first user, at least 8 characters',
    'generated and printed once',
    valid((text) => text.length >= 8 && text.length <= 255, 'must have 8 to 255 characters'),
  ),
  secretKey: optional(
    'GANTRY_SECRET_KEY',
    'Key that encrypts secrets: 64 hex characters, or 32 bytes as base64',
    'a file in GANTRY_HOME',
    valid(
      (text) => decodeKeys(text) !== undefined,
      'must be 64 hex characters, or 32 bytes as base64; older keys may follow, after commas',
    ),
  ),
  passwordLogin: flag(
    'GANTRY_PASSWORD_LOGIN',
    'Whether passwords sign in; `false` requires single sign-on',
    true,
  ),
  oidcIssuer: optional(
    'GANTRY_OIDC_ISSUER',
    'Issuer URL of the OpenID Connect provider; turns single sign-on on',
    'unset: no single sign-on',
    valid(isIssuer, 'must be an https URL without a query (http only on loopback)'),
  ),
  oidcClientId: optional(
    'GANTRY_OIDC_CLIENT_ID',
    'Client ID that the provider knows Gantry by',
    'unset',
    valid((text) => text.length <= 255, 'must have at most 255 characters'),
  ),
  oidcClientSecret: optional(
    'GANTRY_OIDC_CLIENT_SECRET',
    'Client secret that belongs to it',
    'unset',
    valid((text) => text.length <= 1024, 'must have at most 1024 characters'),
  ),
  oidcLabel: setting(
    'GANTRY_OIDC_LABEL',
    'Text of the sign-in button, at most 60 characters',
    'Single sign-on',
    valid((text) => /^[^\p{Cc}]{1,60}$/u.test(text), 'must have 1 to 60 characters'),
  ),
  oidcGroupsClaim: setting(
    'GANTRY_OIDC_GROUPS_CLAIM',
    "Claim that lists a person's groups",
    'groups',
    valid((text) => text.length <= 255, 'must have at most 255 characters'),
  ),
  oidcGroupRoles: groupRoles(
    'GANTRY_OIDC_GROUP_ROLES',
    'Roles by group, as JSON: `{"ops": [{"organization": "acme", "project": "Shop", "role": "developer"}]}`',
  ),
  oidcSignup: flag(
    'GANTRY_OIDC_SIGNUP',
    'Create an account when an unknown user signs in through the provider',
    false,
  ),
  oidcTrustEmail: flag(
    'GANTRY_OIDC_TRUST_EMAIL',
    'Sign-up also takes email addresses about which the provider does not say whether they are verified',
    false,
  ),
  allowTargets: list(
    'GANTRY_ALLOW_TARGETS',
    'Private hosts or CIDRs that outgoing requests may reach, comma-separated',
    'hosts, addresses or CIDRs',
    (part) => isNetwork(part) || isHostName(part),
  ),
  sshTargets: {
    ...list(
      'GANTRY_SSH_TARGETS',
      'The only CIDRs that SSH servers may be in, comma-separated',
      'addresses or CIDRs',
      isNetwork,
    ),
    shown: 'public and private networks',
  },
  trustProxy: list(
    'GANTRY_TRUST_PROXY',
    'CIDRs of proxies whose forwarding headers are trusted, comma-separated',
    'addresses or CIDRs',
    isNetwork,
  ),
  tokenTargets: oneOf(
    'GANTRY_TOKEN_TARGETS',
    'Where hooks may send tokens of credentials; `provider` overrides `token_targets` of all of them',
    ['anywhere', 'provider'],
  ),
  metricsToken: optional(
    'GANTRY_METRICS_TOKEN',
    'Bearer token that may read `/metrics` and nothing else, 16 to 512 characters',
    'unset: instance administrators only',
    valid(
      (text) => /^[\w~+/.=-]{16,512}$/.test(text),
      'must have 16 to 512 letters, digits or any of - . _ ~ + / =',
    ),
  ),
  unsafeLocalSteps: flag(
    'GANTRY_UNSAFE_LOCAL_STEPS',
    "Run steps on local servers even where the kernel cannot isolate them from Gantry's own files",
    false,
  ),
  sample: flag('GANTRY_SAMPLE', 'Create a sample organization at the first start', true),
  maxPayload: integer('GANTRY_MAX_PAYLOAD', 'Maximum hook payload in bytes', MIB, [1024, 25 * MIB]),
  maxSource: integer(
    'GANTRY_MAX_SOURCE',
    'Maximum size of a repository and its submodules together, in bytes; a repository without submodules is not limited',
    10 * GIB,
    [MIB, 1024 * GIB],
  ),
  keepBodiesDays: integer(
    'GANTRY_KEEP_BODIES_DAYS',
    'Days to keep the bodies of hook requests',
    30,
    [1, 3650],
  ),
  retentionRunsDays: optionalInteger(
    'GANTRY_RETENTION_RUNS_DAYS',
    'Days to keep runs that have ended, unless their environment says otherwise',
    'unset: forever',
    [1, 36_500],
  ),
  retentionRunsPerPipeline: optionalInteger(
    'GANTRY_RETENTION_RUNS_PER_PIPELINE',
    'How many runs of a pipeline to keep, unless its environment says otherwise',
    'unset: forever',
    [1, 100_000],
  ),
  retentionLogsDays: optionalInteger(
    'GANTRY_RETENTION_LOGS_DAYS',
    'Days to keep the logs of runs that have ended, unless their environment says otherwise',
    'unset: forever',
    [1, 36_500],
  ),
  retentionRequestsDays: optionalInteger(
    'GANTRY_RETENTION_REQUESTS_DAYS',
    'Days to keep the records of calls and deliveries, unless their environment says otherwise',
    'unset: forever',
    [1, 36_500],
  ),
  logLevel: oneOf('LOG_LEVEL', 'Log level; at a terminal, unless set, warnings and one line per run', [
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
    'Connections for requests; hook calls, the queue and notifications open up to eight more',
    10,
    [2, 200],
  ),
  accessTokenMinutes: integer('GANTRY_ACCESS_TOKEN_MINUTES', 'Lifetime of an access token', 720, [1, 43_200]),
  refreshTokenDays: integer('GANTRY_REFRESH_TOKEN_DAYS', 'Lifetime of a refresh token', 30, [1, 365]),
  requestTimeoutMs: integer(
    'GANTRY_REQUEST_TIMEOUT_MS',
    'Time limit for receiving a whole request',
    30_000,
    [100, 600_000],
  ),
  heartbeatSeconds: integer(
    'GANTRY_HEARTBEAT_SECONDS',
    'The jobs of a worker without a heartbeat for this long are reassigned',
    20,
    [10, 60],
  ),
  pollMs: integer('GANTRY_POLL_MS', 'Maximum wait for jobs without a notification', 5_000, [50, 60_000]),
  settleSeconds: integer(
    'GANTRY_SETTLE_SECONDS',
    'How often Gantry tries to find out what is live on a server where that is unknown',
    45,
    [1, 3_600],
  ),
  missedAfterSeconds: integer(
    'GANTRY_MISSED_AFTER_SECONDS',
    'How long a branch must be at another commit than the newest call for it until Gantry makes the call; connected hooks only',
    120,
    [1, 3_600],
  ),
  checksSeconds: integer(
    'GANTRY_CHECKS_SECONDS',
    'How often at most a repository host is asked for the checks of a commit',
    15,
    [1, 600],
  ),
  reattachSeconds: integer(
    'GANTRY_REATTACH_SECONDS',
    'How long a step on an SSH server runs on without a connection to Gantry before it is ended there; if shorter than a minute, a worker that takes over may be too late',
    300,
    [5, 86_400],
  ),
  deliveryPollMs: integer(
    'GANTRY_DELIVERY_POLL_MS',
    'Maximum wait for a delivery that is due',
    1_000,
    [50, 60_000],
  ),
  stopGraceMs: integer(
    'GANTRY_STOP_GRACE_MS',
    'Time for running work to finish when stopping',
    10_000,
    [0, 10_000],
  ),
} satisfies Record<string, Setting<unknown>>

export type Config = { [Key in keyof typeof settings]: ReturnType<(typeof settings)[Key]['read']> }

export class ConfigError extends Error {}

/** Reads the environment; an empty variable counts as unset. Throws one error that lists every problem. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const problems: string[] = []
  const config: Record<string, unknown> = {}
  for (const [key, { variable, read }] of Object.entries(settings)) {
    try {
      config[key] = read(environment[variable] || undefined)
    } catch (error) {
      if (!(error instanceof InvalidSetting)) throw error
      problems.push(`${variable} ${error.message}`)
    }
  }
  if (config.role !== 'all' && config.role !== undefined && !environment.DATABASE_URL) {
    problems.push(`GANTRY_ROLE=${config.role} requires DATABASE_URL: the processes share one database server`)
  }
  problems.push(...checkSingleSignOn(environment))
  if (problems.length > 0) {
    throw new ConfigError(`Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
  return config as Config
}

const OIDC_CLIENT = ['GANTRY_OIDC_ISSUER', 'GANTRY_OIDC_CLIENT_ID', 'GANTRY_OIDC_CLIENT_SECRET']

function checkSingleSignOn(environment: NodeJS.ProcessEnv): string[] {
  const missing = OIDC_CLIENT.filter((variable) => !environment[variable])
  if (missing.length === 0) return []
  if (missing.length < OIDC_CLIENT.length)
    return [`single sign-on requires all of ${OIDC_CLIENT.join(', ')}; missing: ${missing.join(', ')}`]
  return environment.GANTRY_PASSWORD_LOGIN === 'false'
    ? ['GANTRY_PASSWORD_LOGIN=false requires single sign-on: set GANTRY_OIDC_ISSUER']
    : []
}

/**
 * The URL that decides whether outgoing requests may reach loopback. A service that listens on every address is not
 * limited to its own machine, although `localhost` leads to it.
 */
export function guardUrl({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>, baseUrl: string): string {
  const listensEverywhere = ['0.0.0.0', '::', '[::]'].includes(host)
  return publicUrl === undefined && listensEverywhere ? 'http://0.0.0.0' : baseUrl
}

/** The URL under which users and senders reach this service. */
export function baseUrlOf(config: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  return config.publicUrl ?? urlAt(config.host, port)
}

/** The URL of a process that listens there, on this machine. */
export function urlAt(address: string, port: number): string {
  const host = ['0.0.0.0', '::'].includes(address) ? 'localhost' : address
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function setting<Value>(variable: string, about: string, fallback: string, parse: (text: string) => Value) {
  return { variable, about, shown: fallback, read: (text = fallback) => parse(text) }
}

function optional(variable: string, about: string, shown: string, parse: (text: string) => string) {
  return { variable, about, shown, read: (text?: string) => (text === undefined ? undefined : parse(text)) }
}

function integer(variable: string, about: string, fallback: number, range: [number, number]) {
  return setting(variable, `${about} (${range.join('–')})`, String(fallback), (text) =>
    parseInteger(text, range),
  )
}

function optionalInteger(variable: string, about: string, shown: string, range: [number, number]) {
  const read = (text?: string) => (text === undefined ? null : parseInteger(text, range))
  return { variable, about: `${about} (${range.join('–')})`, shown, read }
}

function parseInteger(text: string, [min, max]: [number, number]): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw new InvalidSetting(`must be an integer from ${min} to ${max}`)
}

/** The first value is the default. */
function oneOf<const Value extends string>(
  variable: string,
  about: string,
  values: readonly [Value, ...Value[]],
): Setting<Value> {
  return setting(variable, `${about}: ${values.join(', ')}`, values[0], (text) => {
    const known = values.find((value) => value === text)
    if (known === undefined) throw new InvalidSetting(`must be one of ${values.join(', ')}`)
    return known
  })
}

function flag(variable: string, about: string, fallback: boolean): Setting<boolean> {
  return setting(variable, about, String(fallback), (text) => {
    if (text !== 'true' && text !== 'false') throw new InvalidSetting('must be true or false')
    return text === 'true'
  })
}

function list(variable: string, about: string, items: string, isValid: (part: string) => boolean) {
  const read = (text = '') => {
    const parts = text.split(',').flatMap((part) => part.trim() || [])
    const invalid = parts.filter((part) => !isValid(part))
    if (invalid.length > 0) throw new InvalidSetting(`must list ${items}; invalid: ${invalid.join(', ')}`)
    return parts
  }
  return { variable, about, shown: 'none', read }
}

function groupRoles(variable: string, about: string): Setting<GroupRoles> {
  const read = (text?: string): GroupRoles => {
    const parsed = text === undefined ? new Map() : parseGroupRoles(text)
    if (typeof parsed === 'string') throw new InvalidSetting(parsed)
    return parsed
  }
  return { variable, about, shown: 'none', read }
}

/** A text that passes through unchanged when it is valid. */
function valid(isValid: (text: string) => boolean, problem: string): (text: string) => string {
  return (text) => {
    if (isValid(text)) return text
    throw new InvalidSetting(problem)
  }
}

/** A host name may have characters that a worker's name cannot have. */
function workerNameOf(host: string): string {
  const name = host.replaceAll(/[^\w.-]/g, '-').slice(0, 253)
  return WORKER_NAME.test(name) ? name : 'worker'
}

function isHostName(text: string): boolean {
  return text.length <= 253 && /^\w([\w-]{0,61}\w)?(\.\w([\w-]{0,61}\w)?)*\.?$/.test(text)
}

/** An `@` behind the host belongs to a password that was cut off at `/`, `?` or `#`: its rest would be the host's name. */
function isPostgresUrl(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null && /^postgres(ql)?:$/.test(url.protocol) && !/@/.test(url.pathname + url.search + url.hash)
  )
}

function isNetwork(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text)
}

function baseUrl(text: string): string {
  const url = URL.parse(text)
  const plain = url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password
  if (plain && !url.search && !url.hash) return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
  throw new InvalidSetting('must be an http or https URL without a query, such as https://gantry.example.com')
}
