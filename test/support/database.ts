import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { ConnectionSettings } from '#platform/database/connect.ts'
import { later } from './later.ts'

/** Set by global-setup.ts: where the PostgreSQL server of this test run listens. */
const SERVER_VARIABLE = 'GANTRY_TEST_POSTGRES'
export const TEMPLATE_DATABASE = 'gantry_template'

export type TestDatabase = { settings: ConnectionSettings; drop(): Promise<void> }

type TestServer = { host: string; user: string; port?: number; ssl?: false }

export function publishTestServer({ host, user, port, ssl }: TestServer): void {
  process.env[SERVER_VARIABLE] = JSON.stringify({ host, user, port, ssl })
}

export function testServer(): TestServer {
  const text = process.env[SERVER_VARIABLE]
  if (!text) throw new Error('No test server: run the tests with npm test, which starts one.')
  return JSON.parse(text)
}

/** A separate database: a copy of the migrated template, or empty. */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const database = `test_${randomBytes(8).toString('hex')}`
  const template = options.empty ? 'template0' : TEMPLATE_DATABASE
  await administer(`create database ${database} template ${template} strategy file_copy`)
  return {
    settings: { ...testServer(), database },
    drop: () => administer(`drop database if exists ${database} with (force)`),
  }
}

type Closer = { after(fn: () => Promise<void>): void }

/**
 * The setting of a Gantry process that uses a separate database of this run's server: ready sooner than with a server
 * of its own, which it gets outside of test runs.
 */
export async function databaseOfProcess(t: Closer): Promise<Record<string, string>> {
  if (!process.env[SERVER_VARIABLE]) return {}
  const { settings, drop } = await createTestDatabase()
  later(t, drop)
  return { DATABASE_URL: urlOf(settings) }
}

/** As another process is given it. */
export function urlOf({ host, port = 5432, user, database }: ConnectionSettings): string {
  return `postgres:///${database}?${new URLSearchParams({ host: host!, port: String(port), user: user! })}`
}

/** One statement in the database of a process: time that passes, for example. */
export async function changeDatabase(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ ...testServer(), database: 'postgres' })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
