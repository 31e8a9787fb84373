import assert from 'node:assert/strict'
import { appendFile, readFile, stat } from 'node:fs/promises'
import { test } from 'node:test'
import { preparedHome, start } from './fixtures.ts'
import { capLog, logPath, logSize } from './log.ts'

test('a log that is too large is rotated to one older file, and the server continues in the truncated file', async (t) => {
  const home = await preparedHome(t)
  const server = await start(t, { home })
  await appendFile(logPath(home), 'x'.repeat(6 * 1024 * 1024))
  await capLog(home)
  assert.equal(await logSize(home), 0)
  await server.stop()
  assert.match(await readFile(logPath(home), 'utf8'), /^\d{4}-.*database system is shut down\n$/s)
  const older = await stat(`${logPath(home)}.1`)
  assert.ok(older.size > 6 * 1024 * 1024)
  assert.equal(older.mode & 0o777, 0o600)
})
