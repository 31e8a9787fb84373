// What is wrong with a database server, from what it says about itself. Pure; preflight.ts asks.

/** A sentence, and what to do about it. */
export type Problem = { message: string; remedy: string }

export type ServerFacts = {
  version: number
  encoding: string
  isStandby: boolean
  isReadOnly: boolean
  /** The clock of the server minus ours. */
  skewMs: number
  user: string
  database: string
  /** Null when none of the search path exists. */
  schema: string | null
  mayUseSchema: boolean
  mayCreateInSchema: boolean
  /** Of the schema `queue`: exists, and this role may create in it; or it does not, and the role may create it. */
  mayCreateQueue: boolean
  hasQueue: boolean
  /** Another role to which tables of Gantry belong; null when there is none. */
  foreignOwner: string | null
  maxConnections: number
  reservedConnections: number
  usedConnections: number
  /** Of the role or the database, the smaller one; null for none. */
  connectionLimit: number | null
}

export const MIN_VERSION = 15
export const MAX_VERSION = 18
const SKEW_MS = 5_000

type Found = { problems: Problem[]; warnings: Problem[] }

/** `connections`: how many this process opens at most. */
export function findServerProblems(facts: ServerFacts, connections: number): Found {
  const { problems, warnings } = basicProblems(facts)
  if (facts.isStandby || facts.isReadOnly)
    problems.push({
      message: facts.isStandby ? 'The server is a standby, which is read-only.' : 'The server is read-only.',
      remedy: facts.isStandby
        ? 'Use the address of the primary, or of a proxy that follows it.'
        : 'Set default_transaction_read_only = off, after making room if a full disk is the cause.',
    })
  problems.push(...privilegeProblems(facts))
  const counted = connectionProblems(facts, connections)
  problems.push(...counted.problems)
  warnings.push(...counted.warnings)
  if (Math.abs(facts.skewMs) > SKEW_MS)
    warnings.push({
      message: `The clock of the database server is ${(Math.abs(facts.skewMs) / 1_000).toFixed(1)} s ${facts.skewMs > 0 ? 'ahead of' : 'behind'} the clock of this machine.`,
      remedy: 'Synchronize both with NTP: signatures, tokens and schedules depend on the time.',
    })
  return { problems, warnings }
}

/** What every command needs, too. */
export function basicProblems({ version, encoding, database }: ServerFacts): Found {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  if (version < MIN_VERSION)
    problems.push({
      message: `It runs PostgreSQL ${version}; Gantry requires ${MIN_VERSION} or newer.`,
      remedy: `Upgrade the server; ${MAX_VERSION} is best.`,
    })
  if (version > MAX_VERSION)
    warnings.push({
      message: `PostgreSQL ${version} is newer than this release of Gantry, which was tested up to ${MAX_VERSION}.`,
      remedy: 'Upgrade Gantry when a release for it exists.',
    })
  if (encoding !== 'UTF8')
    problems.push({
      message: `The database ${database} has the encoding ${encoding}; Gantry stores any text, which takes UTF8.`,
      remedy: `Create another: create database ${quoted(`${database}_utf8`)} encoding 'UTF8' template template0;`,
    })
  return { problems, warnings }
}

function privilegeProblems(facts: ServerFacts): Problem[] {
  const { schema, database, foreignOwner } = facts
  const user = quoted(facts.user)
  const grants: string[] = []
  if (schema === null)
    return [
      {
        message: 'No schema of the search path exists.',
        remedy: `As the owner of the database: create schema public; grant usage, create on schema public to ${user};`,
      },
    ]
  if (!facts.mayUseSchema || !facts.mayCreateInSchema)
    grants.push(`grant usage, create on schema ${quoted(schema)} to ${user};`)
  if (!facts.mayCreateQueue)
    grants.push(
      facts.hasQueue
        ? `grant usage, create on schema queue to ${user};`
        : `grant create on database ${quoted(database)} to ${user};`,
    )
  if (foreignOwner !== null) grants.push(`grant ${quoted(foreignOwner)} to ${user};`)
  if (grants.length === 0) return []
  return [
    {
      message: `The role ${facts.user} lacks privileges in the database ${database}.`,
      remedy: `As a superuser, in this database: ${grants.join(' ')}`,
    },
  ]
}

function connectionProblems(facts: ServerFacts, needed: number): Found {
  const { maxConnections, reservedConnections, connectionLimit, usedConnections } = facts
  const usable = maxConnections - reservedConnections
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const fewer = 'or lower GANTRY_DATABASE_CONNECTIONS'
  if (usable < needed)
    problems.push({
      message: `The server allows ${usable} connections (max_connections = ${maxConnections}, ${reservedConnections} of them reserved); this process opens up to ${needed}.`,
      remedy: `Raise max_connections to at least ${needed + reservedConnections} for each process of Gantry, ${fewer}.`,
    })
  else if (connectionLimit !== null && connectionLimit < needed)
    problems.push({
      message: `The role or the database is limited to ${connectionLimit} connections; this process opens up to ${needed}.`,
      remedy: `Raise it: alter role ${quoted(facts.user)} connection limit ${needed}; alter database ${quoted(facts.database)} connection limit ${needed}; ${fewer}.`,
    })
  else if (usable - usedConnections < needed)
    warnings.push({
      message: `${usedConnections} of the ${usable} connections of the server are in use; this process opens up to ${needed} more.`,
      remedy: `Raise max_connections if they run out, ${fewer}.`,
    })
  return { problems, warnings }
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** What to do about an error of the connection itself; undefined when its message says it all. */
export function connectionRemedy(error: Error & { code?: string }): string | undefined {
  const { code = '', message } = error
  if (/unsupported startup parameter/.test(message))
    return 'Remove options and timeouts from DATABASE_URL: Gantry sets what it needs itself.'
  if (/does not support SSL/.test(message))
    return 'Enable SSL on the server, or, on a trusted network, set sslmode=disable.'
  if (/CERT|SIGNATURE|ALTNAME/.test(code))
    return 'Add sslrootcert=/path/to/ca.pem to DATABASE_URL, and use the host name that is in the certificate.'
  return REMEDIES[code]
}

const REMEDIES: Record<string, string> = {
  ECONNREFUSED: 'Start the server, and check host and port of DATABASE_URL.',
  ENOTFOUND: 'Check the host name in DATABASE_URL.',
  '28P01': 'Check user and password in DATABASE_URL.',
  '28000': 'Check the user in DATABASE_URL, and pg_hba.conf of the server.',
  '3D000': "Create it: create database … encoding 'UTF8' template template0;",
  // Of has_parameter_privilege, the newest function that a session starts with.
  '42883': `Upgrade the server: Gantry requires PostgreSQL ${MIN_VERSION} or newer.`,
  '53300': 'Raise max_connections of the server, or end other clients.',
}
