import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '#platform/database/connect.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { migrate } from '#platform/database/migrate.ts'
import { installQueue } from '#platform/queue/open-queue.ts'
import { administer, publishTestServer, TEMPLATE_DATABASE } from './database.ts'
import { homeForOlderPostgres, olderPostgres } from './older-postgres.ts'

// One real PostgreSQL for the whole run, and in it a migrated template that every test file copies. With
// GANTRY_TEST_POSTGRES_VERSION=15 (16, 17) it is that version; `node scripts/test-tools.mjs --faults` gets it.
let server: EmbeddedPostgres | undefined
let home: string | undefined

export async function globalSetup(): Promise<void> {
  home = await homeForOlderPostgres(await mkdtemp(join(await memoryOr(tmpdir()), 'gantry-tests-')))
  server = await startEmbeddedPostgres({
    home,
    packageFolder: await olderPostgres(process.env.GANTRY_TEST_POSTGRES_VERSION),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '600' },
  })
  publishTestServer(server.connection)
  await administer(`create database ${TEMPLATE_DATABASE}`)
  const settings = { ...server.connection, database: TEMPLATE_DATABASE }
  const database = openDatabase(settings, { onIdleError: () => {} })
  await migrate(database.db)
  await database.close()
  await installQueue(settings)
  await administer(`alter database ${TEMPLATE_DATABASE} allow_connections false`)
}

/**
 * Where Linux has files in memory, if they may become so large: a database is a thousand files, and a disk takes ten
 * times as long as memory to create those of another.
 */
async function memoryOr(folder: string): Promise<string> {
  const memory = '/dev/shm'
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= 2 ** 32 ? memory : folder
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
  if (home) await rm(home, { recursive: true, force: true })
}
