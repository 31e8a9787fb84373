import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type pg from 'pg'
import { recordAudit } from '#access/audit/record.ts'
import { connectForLongWork } from '#ops/commands/reach-database.ts'
import {
  type ConnectionSettings,
  type Database,
  openDatabase,
  type Transaction,
} from '#platform/database/connect.ts'
import { migrationNames } from '#platform/database/migrate.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { installQueue } from '#platform/queue/open-queue.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createAction, createTestTree } from '#test/support/world.ts'
import { openBackupFile } from './backup-file.ts'
import { restoreBackup } from './restore-backup.ts'
import { takeBackup } from './take-backup.ts'

const { signal } = new AbortController()
const quietly = { print: () => {}, signal }

test('a restored audit log keeps its order, continues it, and is still immutable', async (t) => {
  const { old, fresh, saveAndRestore } = await prepare(t)
  await withDatabase(old.settings, async (db) => {
    const slow = await db.startTransaction().execute()
    await record(slow, 'Slow')
    await db.transaction().execute((trx) => record(trx, 'Fast'))
    await slow.commit().execute()
  })
  await saveAndRestore()

  await withDatabase(fresh.settings, async (db) => {
    await db.transaction().execute((trx) => record(trx, 'New'))
    const rows = await db.selectFrom('audit_entries').selectAll().orderBy('position').execute()
    assert.deepEqual(
      rows.map((row) => row.subject_name),
      ['Fast', 'Slow', 'New'],
    )
    await assert.rejects(sql`update audit_entries set verb = 'x'`.execute(db), /never changed or removed/)
    await assert.rejects(sql`delete from audit_entries`.execute(db), /never changed or removed/)
  })
})

test('runs that name what the backup does not have are not restored', async (t) => {
  const { old, saveAndRestore } = await prepare(t)
  await withDatabase(old.settings, async (db) => {
    const tree = await createTestTree(db)
    const actionId = await createAction(db, tree)
    await sql`update targets set server_id = 999 where action_id = ${actionId} and position = 1`.execute(db)
  })
  await assert.rejects(saveAndRestore(), /the backup has targets on a server that is not in the backup \(1\)/)
})

/** A database to save and an empty one. */
async function prepare(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-restore-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'backup')
  const [old, fresh] = [await createTestDatabase(), await createTestDatabase({ empty: true })]
  t.after(() => Promise.all([old.drop(), fresh.drop()]))
  await installQueue(old.settings, jobs, 20)
  await installQueue(fresh.settings, jobs, 20)
  const saved = { path, home: '/nowhere', gantryVersion: '0', keys: null, withKey: false, ...quietly }
  const saveAndRestore = async () => {
    await withClient(old.settings, (client) => takeBackup(client, saved))
    await using backup = await openBackupFile(path, signal)
    const input = { backup, home: '/nowhere', migrations: migrationNames(), ...quietly }
    await withClient(fresh.settings, (client) =>
      restoreBackup(client, { ...input, beforeCommit: async () => {} }),
    )
  }
  return { old, fresh, saveAndRestore }
}

async function record(trx: Transaction, name: string): Promise<void> {
  const nobody = { userId: null, ipAddress: null, requestId: null }
  const subject = { type: 'user', id: 1, name }
  await recordAudit(trx, nobody, {
    organizationId: null,
    verb: 'changed',
    subject,
    before: null,
    after: null,
  })
}

async function withDatabase(
  settings: ConnectionSettings,
  work: (db: Database) => Promise<void>,
): Promise<void> {
  const database = openDatabase(settings, { onIdleError: () => {} })
  await work(database.db).finally(() => database.close())
}

async function withClient(
  settings: ConnectionSettings,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = await connectForLongWork(settings)
  await work(client).finally(() => client.end())
}
