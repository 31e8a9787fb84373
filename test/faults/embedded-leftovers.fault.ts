import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { provideBinaries } from '#platform/database/embedded/binaries.ts'
import {
  eventually,
  gantryProcess,
  isRunning,
  postmasterOf,
  preparedHome,
  query,
  start,
} from '#platform/database/embedded/fixtures.ts'

test('a Gantry killed with -9 takes its server down, and the next start has everything committed', async (t) => {
  const home = await preparedHome(t)
  const killed = await gantryProcess(t, home)
  await query(killed.connection, 'create table survivors as select 42 as answer')
  const server = await postmasterOf(home)
  killed.child.kill('SIGKILL')
  await killed.ended

  const began = performance.now()
  const { connection } = await start(t, { home })
  assert.ok(performance.now() - began < 10_000)
  assert.equal(isRunning(server), false)
  assert.deepEqual(await query(connection, 'select * from survivors'), [{ answer: 42 }])
})

test('the server stops when its Gantry is killed, without another start', async (t) => {
  const home = await preparedHome(t)
  const killed = await gantryProcess(t, home)
  const server = await postmasterOf(home)
  killed.child.kill('SIGKILL')
  await eventually(async () => assert.equal(isRunning(server), false))
  await assert.rejects(stat(join(home, 'postgres/postmaster.pid')), { code: 'ENOENT' })
})

test('a server that outlived its Gantry is stopped and replaced', async (t) => {
  const home = await preparedHome(t)
  const orphan = await orphanServer(home)
  const notes: string[] = []
  const { connection } = await start(t, { home, print: (note) => notes.push(note) })
  assert.deepEqual(notes, [`stopping a PostgreSQL server left over from a killed Gantry (process ${orphan})`])
  assert.equal((await query(connection, 'select 1')).length, 1)
  assert.notEqual(await postmasterOf(home), orphan)
})

test('a server killed with -9 is restarted, although a backend of the old one is still busy', async (t) => {
  const home = await preparedHome(t)
  const notes: string[] = []
  const { connection } = await start(t, { home, print: (note) => notes.push(note) })
  await query(connection, 'create table survivors as select 42 as answer')
  const busy = assert.rejects(query(connection, 'select count(*) from generate_series(1, 10000000000)'))
  await eventually(async () => {
    const rows = await query(
      connection,
      `select from pg_stat_activity where state = 'active' and query like '%_series(%' and pid <> pg_backend_pid()`,
    )
    assert.equal(rows.length, 1)
  })
  process.kill(await postmasterOf(home), 'SIGKILL')
  await busy
  assert.deepEqual(await eventually(() => query(connection, 'select * from survivors')), [{ answer: 42 }])
  assert.match(notes[0] ?? '', /exited unexpectedly \(signal SIGKILL\); restarting it/)
})

test('stopping during a restart of the server leaves nothing running', async (t) => {
  const home = await preparedHome(t)
  const { promise: noticed, resolve: notice } = Promise.withResolvers<void>()
  const server = await start(t, { home, print: () => notice() })
  process.kill(await postmasterOf(home), 'SIGKILL')
  await noticed
  await server.stop()
  const pid = await postmasterOf(home).catch(() => 0)
  assert.ok(pid === 0 || !isRunning(pid))
})

test('lock files of an unrelated process, or of none, do not prevent a start', async (t) => {
  const home = await preparedHome(t)
  const { uid, gid } = await stat(join(home, 'postgres'))
  const unrelated = spawn('sleep', ['600'], { uid, gid, cwd: '/' })
  t.after(() => unrelated.kill())
  for (const text of [`${unrelated.pid}\n/proc/self/cwd\n`, '']) {
    await writeFile(join(home, 'postgres/postmaster.pid'), text)
    await writeFile(join(home, 'postgres/.s.PGSQL.5432.lock'), text)
    const server = await start(t, { home })
    assert.equal((await query(server.connection, 'select 1')).length, 1)
    await server.stop()
  }
  assert.equal(unrelated.signalCode, null)
})

/** A server without a Gantry, such as one left where the kernel's death signal is not to be had. */
async function orphanServer(home: string): Promise<number> {
  const { postgres } = await provideBinaries(home)
  const data = join(home, 'postgres')
  const { uid, gid } = await stat(data)
  const settings = ['-c', 'listen_addresses=', '-c', 'unix_socket_directories=/proc/self/cwd']
  const child = spawn(postgres, ['-D', '/proc/self/cwd', ...settings], { cwd: data, env: {}, uid, gid })
  let said = ''
  for await (const [chunk] of on(child.stderr, 'data')) {
    said += chunk
    if (said.includes('ready to accept connections')) break
  }
  child.unref()
  return child.pid!
}
