import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import {
  checkoutForEveryone,
  nodeOf,
  ordinaryUser,
  postmasterOf,
  preparedHome,
  query,
  start,
  temporaryFolder,
  testAsRoot,
} from './fixtures.ts'
import { startEmbeddedPostgres } from './start.ts'

test('a data folder of another major version is rejected with advice, and not changed', async (t) => {
  const home = await temporaryFolder(t)
  await mkdir(join(home, 'postgres'))
  await writeFile(join(home, 'postgres/PG_VERSION'), '15\n')
  await assert.rejects(
    startEmbeddedPostgres({ home }),
    /written by PostgreSQL 15, but this Gantry includes PostgreSQL 18: dump the data/,
  )
  assert.deepEqual(await readdir(join(home, 'postgres')), ['PG_VERSION'])
})

test('a link to a missing data folder is rejected, never replaced by an empty database', async (t) => {
  const home = await temporaryFolder(t)
  await symlink(join(home, 'unplugged-disk'), join(home, 'postgres'))
  await assert.rejects(startEmbeddedPostgres({ home }), /unplugged-disk, which does not exist: restore/)
})

test('a folder that is not a database is rejected, and not changed', async (t) => {
  const home = await temporaryFolder(t)
  await mkdir(join(home, 'postgres'))
  await writeFile(join(home, 'postgres/thesis.txt'), 'mine')
  await assert.rejects(startEmbeddedPostgres({ home }), /not a PostgreSQL data folder/)
  assert.deepEqual(await readdir(join(home, 'postgres')), ['thesis.txt'])
})

test('an initdb that was killed halfway is started over', async (t) => {
  const home = await temporaryFolder(t)
  await mkdir(join(home, 'postgres.unfinished/base'), { recursive: true })
  await writeFile(join(home, 'postgres.unfinished/PG_VERSION'), '18\n')
  const { connection } = await start(t, { home })
  assert.equal((await query(connection, 'select 1')).length, 1)
  assert.ok(!(await readdir(home)).includes('postgres.unfinished'))
})

test('a home that was moved, with its data on another disk, keeps its data', async (t) => {
  const folder = await temporaryFolder(t)
  await rename(await preparedHome(t), join(folder, 'before'))
  const before = await start(t, { home: join(folder, 'before') })
  await query(before.connection, 'create table survivors as select 42 as answer')
  await before.stop()
  await rename(join(folder, 'before'), join(folder, 'after'))
  await rename(join(folder, 'after/postgres'), join(folder, 'disk'))
  await symlink(join(folder, 'disk'), join(folder, 'after/postgres'))
  const after = await start(t, { home: join(folder, 'after') })
  assert.deepEqual(await query(after.connection, 'select * from survivors'), [{ answer: 42 }])
})

testAsRoot('root runs the home of a regular user, whose account keeps the data', async (t) => {
  const home = await preparedHome(t, ordinaryUser)
  const { connection } = await start(t, { home })
  assert.equal((await query(connection, 'select 1')).length, 1)
  assert.equal((await stat(`/proc/${await postmasterOf(home)}`)).uid, ordinaryUser.uid)
})

testAsRoot('the data of another account is rejected with the reason', async (t) => {
  const home = await temporaryFolder(t, ordinaryUser)
  await mkdir(join(home, 'postgres'), { mode: 0o700 })
  const checkout = await checkoutForEveryone()
  const program = `
    const { findDatabaseFolder } = await import(${JSON.stringify(join(checkout, 'server/platform/database/embedded/data.ts'))})
    await findDatabaseFolder(${JSON.stringify(home)}, '18').catch((error) => console.log(error.message))`
  const { stdout } = await promisify(execFile)(nodeOf(checkout), ['--input-type=module', '-e', program], {
    ...ordinaryUser,
    cwd: '/',
  })
  assert.match(stdout, /belongs to another account \(uid 0, Gantry runs as 65534\)/)
})
