import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  eventually,
  gantryProcess,
  ordinaryUser,
  postmasterOf,
  preparedHome,
  query,
  start,
  temporaryFolder,
  testAsRoot,
} from '#platform/database/embedded/fixtures.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'

test('a new home gets a database that only its own account can reach, through a private socket', async (t) => {
  const home = join(await temporaryFolder(t), 'home')
  const { connection } = await start(t, { home })

  const [database] = await query(
    connection,
    `select current_database(), current_user, current_setting('listen_addresses') as listen,
       current_setting('data_checksums') as checksums, datlocprovider::text as provider, datlocale as locale
     from pg_database where datname = current_database()`,
  )
  assert.deepEqual(database, {
    current_database: 'gantry',
    current_user: 'gantry',
    listen: '',
    checksums: 'on',
    provider: 'b',
    locale: 'C.UTF-8',
  })
  const rules = await query(connection, 'select type, user_name, auth_method, options from pg_hba_file_rules')
  assert.deepEqual(rules, [
    { type: 'local', user_name: ['gantry'], auth_method: 'peer', options: ['map=gantry'] },
  ])
  for (const folder of [home, connection.host]) {
    assert.equal((await stat(folder)).mode & 0o777, 0o700, folder)
  }
})

test('the server inherits nothing from our environment, and PG variables do not affect the connection', async (t) => {
  const home = await preparedHome(t)
  const misleading = {
    GANTRY_SECRET_KEY: 'a-key-to-hide',
    PGPORT: '1',
    PGHOST: '192.0.2.1',
    PGSSLMODE: 'require',
  }
  Object.assign(process.env, misleading)
  t.after(() => {
    for (const name of Object.keys(misleading)) delete process.env[name]
  })
  const { connection } = await start(t, { home })
  const environment = await readFile(`/proc/${await postmasterOf(home)}/environ`, 'utf8')
  assert.deepEqual(
    environment
      .split('\0')
      .map((entry) => entry.split('=')[0])
      .filter((name) => name !== '' && !name?.startsWith('PG_')),
    ['PATH', 'LANG'],
  )
  assert.ok(!environment.includes('a-key-to-hide'))
  assert.equal((await query(connection, 'select 1')).length, 1)
})

testAsRoot(
  'under root, below a folder that only root can enter, the server runs without privileges',
  async (t) => {
    const folder = await temporaryFolder(t)
    await chmod(folder, 0o700)
    const home = join(folder, 'home')
    await rename(await preparedHome(t), home)
    const { connection } = await start(t, { home })
    const server = await stat(`/proc/${await postmasterOf(home)}`)
    assert.notEqual(server.uid, 0)
    assert.equal((await stat(join(home, 'postgres'))).uid, server.uid)
    assert.equal((await query(connection, 'select 1')).length, 1)
  },
)

test('a regular user runs the server under their own account, from a copy in their home', async (t) => {
  const home = await preparedHome(t, ordinaryUser)
  const other = await gantryProcess(t, home, ordinaryUser)
  const server = await stat(`/proc/${await postmasterOf(home)}`)
  assert.equal(server.uid, ordinaryUser.uid)
  assert.equal((await readdir(join(home, 'cache'))).length, 1)
  assert.ok(other.connection.host.startsWith(home))
})

test('a home too deep for a socket path is reached through a short private folder, removed by stop', async (t) => {
  const home = join(await temporaryFolder(t), 'deep/'.repeat(25))
  await mkdir(home, { recursive: true })
  await rename(await preparedHome(t), home)
  const server = await start(t, { home })
  const { host } = server.connection
  assert.ok(host.length < 60, host)
  assert.equal((await stat(join(host, '..'))).mode & 0o777, 0o700)
  assert.equal((await query(server.connection, 'select 1')).length, 1)
  await server.stop()
  await assert.rejects(stat(join(host, '..')), { code: 'ENOENT' })
})

test('a start that PostgreSQL rejects reports its own message, and leaves the home usable', async (t) => {
  const home = await preparedHome(t)
  const starting = startEmbeddedPostgres({ home, settings: { fsync: 'off', shared_buffers: 'plenty' } })
  await assert.rejects(starting, /did not start .*invalid value for parameter "shared_buffers": "plenty"/s)
  const { connection } = await start(t, { home })
  assert.equal((await query(connection, 'select 1')).length, 1)
})

test('neither statements nor values reach the log, even when a backend is killed', async (t) => {
  const home = await preparedHome(t)
  const { connection } = await start(t, { home })
  await query(connection, `create table secrets (name text unique); insert into secrets values ('hush-1')`)
  await assert.rejects(query(connection, `insert into secrets values ('hush-1')`), /duplicate key/)
  await assert.rejects(query(connection, `select 'hush-2'::uuid`), /invalid input syntax/)
  await assert.rejects(query(connection, `select 'hush-3' from nowhere`), /does not exist/)
  const killed = assert.rejects(query(connection, `select pg_sleep(60), 'hush-4'`))
  const [backend] = await eventually(async () => {
    const rows = await query(connection, `select pid from pg_stat_activity where wait_event = 'PgSleep'`)
    assert.equal(rows.length, 1)
    return rows
  })
  process.kill(backend?.pid as number, 'SIGKILL')
  await killed
  await eventually(() => query(connection, 'select 1'))

  const log = await readFile(join(home, 'postgres.log'), 'utf8')
  assert.match(log, /terminated by signal 9/)
  assert.doesNotMatch(log, /hush/)
})
