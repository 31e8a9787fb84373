// Asks the server of DATABASE_URL everything that would fail later, and reports all of it at once.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import pg from 'pg'
import type { ConnectionSettings } from './connect.ts'
import {
  basicProblems,
  connectionRemedy,
  findServerProblems,
  type Problem,
  type ServerFacts,
} from './server-problems.ts'

const CONNECT_MS = 10_000
const NOTIFY_MS = 3_000
const SESSIONS = 3

export type Preflight = {
  /** How many connections this process opens at most; absent for commands, which need less. */
  connections?: number
  warn: (message: string) => void
}

/** Throws with every problem and its remedy. Warnings do not prevent a start. */
export async function preflight(settings: ConnectionSettings, options: Preflight): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const connect = async () => {
    const client = new pg.Client({
      ...settings,
      application_name: 'gantry preflight',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
    })
    client.on('error', () => {})
    resources.defer(() => void client.end().catch(() => {}))
    await client.connect()
    return client
  }
  try {
    const first = await connect()
    const facts = await readFacts(first)
    const { connections } = options
    const { problems, warnings } =
      connections === undefined ? basicProblems(facts) : findServerProblems(facts, connections)
    if (connections !== undefined && !facts.isStandby) {
      const others = await Promise.all(Array.from({ length: SESSIONS - 1 }, connect))
      problems.push(...(await poolingProblems([first, ...others])))
    }
    for (const { message, remedy } of warnings) options.warn(`warning: ${message} ${remedy}`)
    if (problems.length > 0) throw new PreflightError(problems)
  } catch (error) {
    if (error instanceof PreflightError) throw error
    const message = `${(error as Error).message.replace(/\.$/, '')}.`
    const remedy = connectionRemedy(error as Error) ?? ''
    throw new PreflightError([{ message, remedy }], error)
  }
}

class PreflightError extends Error {
  constructor(problems: readonly Problem[], cause?: unknown) {
    const lines = problems.map(({ message, remedy }) => `${message} ${remedy}`.trim())
    const list = lines.length === 1 ? ` ${lines[0]}` : lines.map((line) => `\n- ${line}`).join('')
    super(`The server of DATABASE_URL cannot be used:${list}`, { cause })
  }
}

const FACTS = `
  select current_setting('server_version_num')::int / 10000 as version,
    (select pg_encoding_to_char(encoding) from pg_database where datname = current_database()) as encoding,
    pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
    extract(epoch from clock_timestamp())::float8 * 1000 as clock,
    current_user as user, current_database() as database, current_schema() as schema,
    coalesce(has_schema_privilege(current_schema(), 'usage'), false) as "mayUseSchema",
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreateInSchema",
    queue.exists as "hasQueue",
    case when queue.exists then has_schema_privilege('queue', 'usage') and has_schema_privilege('queue', 'create')
      else has_database_privilege(current_database(), 'create') end as "mayCreateQueue",
    (select pg_get_userbyid(c.relowner) from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and not pg_has_role(c.relowner, 'usage') and (n.nspname = 'queue'
        or n.nspname = current_schema() and to_regclass('schema_migrations') is not null)
      limit 1) as "foreignOwner",
    current_setting('max_connections')::int as "maxConnections",
    current_setting('superuser_reserved_connections')::int
      + coalesce(current_setting('reserved_connections', true), '0')::int as "reservedConnections",
    (select count(*)::int from pg_stat_activity where datid is not null and pid <> pg_backend_pid())
      as "usedConnections",
    (select min(allowed) from (
      select rolconnlimit as allowed from pg_roles where rolname = current_user
      union all select datconnlimit from pg_database where datname = current_database()
    ) as limits where allowed >= 0) as "connectionLimit"
  from (select exists (select from pg_namespace where nspname = 'queue') as exists) as queue`

async function readFacts(client: pg.Client): Promise<ServerFacts> {
  const before = Date.now()
  const { rows } = await client.query<ServerFacts & { clock: number }>(FACTS)
  const { clock, ...facts } = rows[0]!
  // The answer was made at some time in between.
  return { ...facts, skewMs: clock - (before + Date.now()) / 2 }
}

/**
 * A pooler that changes the server process between transactions loses what Gantry keeps in a session: its settings,
 * prepared statements, locks and notifications. Asked one after the other, sessions of their own have processes of
 * their own, and keep them.
 */
async function poolingProblems(clients: readonly pg.Client[]): Promise<Problem[]> {
  const ask = async () => {
    const pids: number[] = []
    for (const client of clients)
      pids.push((await client.query('select pg_backend_pid() as pid')).rows[0].pid)
    return pids
  }
  const [before, after] = [await ask(), await ask()]
  const isPooled = new Set(before).size < clients.length || before.some((pid, n) => pid !== after[n])
  if (isPooled)
    return [
      {
        message:
          'There is a pooler in front of the server that pools by transaction or statement: settings, locks and notifications of Gantry would be lost, silently.',
        remedy:
          'Set pool_mode = session for this database (PgBouncer), or put the address of the server itself into DATABASE_URL.',
      },
    ]
  if (await isNotified(clients[0]!, clients[1]!)) return []
  return [
    {
      message: 'Notifications (LISTEN and NOTIFY) do not arrive.',
      remedy: 'Put the address of the server itself into DATABASE_URL: the proxy in front of it drops them.',
    },
  ]
}

async function isNotified(listening: pg.Client, sending: pg.Client): Promise<boolean> {
  const channel = `gantry_preflight_${randomBytes(6).toString('hex')}`
  const heard = once(listening, 'notification', { signal: AbortSignal.timeout(NOTIFY_MS) }).catch(() => null)
  await listening.query(`listen ${channel}`)
  await sending.query(`notify ${channel}`)
  return (await heard) !== null
}
