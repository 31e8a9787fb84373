import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { administer, createTestDatabase } from '#test/support/database.ts'
import { openDatabase } from './connect.ts'
import { migrate } from './migrate.ts'
import { preflight } from './preflight.ts'
import { findServerProblems, type ServerFacts } from './server-problems.ts'

const { settings, drop } = await createTestDatabase()
after(drop)
const name = settings.database!
const service = { connections: 15, warn: (message: string) => assert.fail(message) }

const problemsOf = async (checked: pg.ClientConfig, options = service) => {
  const error = await preflight(checked, options).then(
    () => assert.fail('no problem'),
    (problem: Error) => problem,
  )
  return error.message
}

test('a good server is accepted, for the service and for commands', async () => {
  await preflight(settings, service)
  await preflight(settings, { warn: service.warn })
})

test('a server that cannot be reached is rejected with the reason and the remedy', async () => {
  assert.equal(
    await problemsOf({ ...settings, database: 'nowhere' }),
    `The server of DATABASE_URL cannot be used: database "nowhere" does not exist. Create it: create database … encoding 'UTF8' template template0;`,
  )
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  assert.match(
    await problemsOf({ host: '127.0.0.1', port, user: 'x', database: 'x' }),
    /ECONNREFUSED.* Start the server, and check host and port of DATABASE_URL\.$/,
  )
})

test('a read-only server with another encoding is rejected for both, at once', async (t) => {
  const other = `${name}_latin1`
  await administer(`create database ${other} encoding 'LATIN1' locale 'C' template template0`)
  t.after(() => administer(`drop database ${other}`))
  await administer(`alter database ${other} set default_transaction_read_only = on`)
  const message = await problemsOf({ ...settings, database: other })
  assert.match(message, /cannot be used:\n- .*has the encoding LATIN1.*create database \w+ encoding 'UTF8'/)
  assert.match(message, /\n- The server is read-only\./)
})

test('a role without privileges is told the statements that give them, and they suffice', async (t) => {
  const { settings: empty, drop: dropEmpty } = await createTestDatabase({ empty: true })
  const role = `role_${empty.database}`
  await administer(`create role ${role}`)
  t.after(async () => {
    await dropEmpty()
    await administer(`drop role ${role}`)
  })
  // The session of this role, without a login of its own.
  const asRole = { ...empty, options: `-c role=${role}` }
  const message = await problemsOf(asRole)
  const statements = /in this database: (.*)$/.exec(message)?.[1] ?? assert.fail(message)
  assert.equal(
    statements,
    `grant usage, create on schema public to ${role}; grant create on database ${empty.database} to ${role};`,
  )
  const owner = new pg.Client(empty)
  await owner.connect()
  await owner.query(statements)
  await owner.end()
  await preflight(asRole, service)
  const { db, close } = openDatabase(asRole, { onIdleError: () => {} })
  await migrate(db).finally(close)
})

test('too few connections are rejected with the numbers', async () => {
  const client = openDatabase(settings, { onIdleError: () => {}, max: 1 })
  const { rows } = await sql<{ max: string }>`select current_setting('max_connections') as max`.execute(
    client.db,
  )
  await client.close()
  const max = Number(rows[0]!.max)
  assert.match(
    await problemsOf(settings, { ...service, connections: max }),
    new RegExp(
      `allows ${max - 3} connections \\(max_connections = ${max}, 3 of them reserved\\); this process opens up to ${max}\\.`,
    ),
  )
})

test('what a server says is judged without it', () => {
  const good: ServerFacts = {
    version: 18,
    encoding: 'UTF8',
    isStandby: false,
    isReadOnly: false,
    skewMs: 20,
    user: 'gantry',
    database: 'gantry',
    schema: 'public',
    mayUseSchema: true,
    mayCreateInSchema: true,
    mayCreateQueue: true,
    hasQueue: true,
    foreignOwner: null,
    maxConnections: 100,
    reservedConnections: 3,
    usedConnections: 5,
    connectionLimit: null,
  }
  const judged = (facts: Partial<ServerFacts>) => {
    const { problems, warnings } = findServerProblems({ ...good, ...facts }, 15)
    return [...problems, ...warnings.map(({ message }) => ({ message: `warning: ${message}` }))].map(
      ({ message }) => message,
    )
  }
  assert.deepEqual(judged({}), [])
  assert.deepEqual(judged({ version: 14 }), ['It runs PostgreSQL 14; Gantry requires 15 or newer.'])
  assert.match(judged({ version: 19 })[0]!, /^warning: PostgreSQL 19 is newer/)
  assert.match(judged({ skewMs: -61_000 })[0]!, /^warning: .* is 61\.0 s behind the clock of this machine\./)
  assert.match(judged({ isStandby: true, isReadOnly: true })[0]!, /is a standby, which is read-only/)
  assert.match(judged({ foreignOwner: 'Someone' })[0]!, /lacks privileges/)
  assert.match(judged({ connectionLimit: 10 })[0]!, /is limited to 10 connections/)
  assert.match(judged({ usedConnections: 90 })[0]!, /^warning: 90 of the 97 connections/)
})
