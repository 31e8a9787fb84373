import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createBackupFile, openBackupFile } from './backup-file.ts'
import { type Contents, encodeEnd, FIRST_LINE, UnusableFileError } from './format.ts'

const { signal } = new AbortController()
const ROWS = Array.from({ length: 2_000 }, (_, index) => `${index}\tsome row\n`).join('')

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-backup-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

async function writeBackup(path: string): Promise<void> {
  await using writer = await createBackupFile(path, signal)
  const add = (content: string) => writer.add(Readable.from([Buffer.from(content)]))
  await writer.finish({
    gantry: '1.2.3',
    created_at: '2026-11-15T00:00:00.000Z',
    schema: ['0001-one'],
    home: '/home',
    key_ids: ['00000000'],
    tables: [
      { name: 'users', columns: ['id', 'name'], rows: 2_000, section: await add(ROWS) },
      { name: 'empty', columns: ['id'], rows: 0, section: await add('') },
    ],
    jobs: { rows: 0, section: await add('') },
    sequences: [{ name: 'users_id_seq', next: '2001' }],
    sample_repository: null,
    key: null,
  })
}

async function assertUnusable(path: string, content: Buffer, why: RegExp, note: string): Promise<void> {
  await writeFile(path, content)
  await assert.rejects(
    openBackupFile(path, signal),
    (error: Error) => {
      assert.ok(error instanceof UnusableFileError, `${note}: ${error.stack}`)
      assert.match(error.message, why, note)
      return true
    },
    note,
  )
}

test('a written backup is read back, and only its owner can read it', async (t) => {
  const folder = await emptyFolder(t)
  const path = join(folder, 'backup')
  await writeBackup(path)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(folder), ['backup'])
  await using backup = await openBackupFile(path, signal)
  const [users, empty] = backup.contents.tables
  assert.equal(await text(backup.read(users!.section)), ROWS)
  assert.equal(await text(backup.read(empty!.section)), '')
})

test('an existing file is never replaced, and a failed backup leaves nothing behind', async (t) => {
  const folder = await emptyFolder(t)
  const path = join(folder, 'backup')
  await writeFile(path, 'precious')
  await assert.rejects(writeBackup(path), { code: 'EEXIST' })
  assert.deepEqual(await readdir(folder), ['backup'])
  assert.equal(await readFile(path, 'utf8'), 'precious')
})

test('a truncated file is rejected', async (t) => {
  const path = join(await emptyFolder(t), 'backup')
  await writeBackup(path)
  const whole = await readFile(path)
  for (const length of [0, 1, FIRST_LINE.length, 100, whole.length >> 1, whole.length - 1]) {
    const why = length < FIRST_LINE.length ? /is not a Gantry backup/ : /is incomplete/
    await assertUnusable(path, whole.subarray(0, length), why, `${length} bytes`)
  }
})

test('a file with any one byte changed is rejected', async (t) => {
  const path = join(await emptyFolder(t), 'backup')
  await writeBackup(path)
  const whole = await readFile(path)
  for (let at = 0; at < whole.length; at += at < 64 || at > whole.length - 80 ? 1 : 37) {
    const changed = Buffer.from(whole)
    changed[at]! ^= 1
    await assertUnusable(path, changed, /damaged|incomplete|not a Gantry backup|newer Gantry/, `byte ${at}`)
  }
})

test('another file, a longer file and a file of a later format are told apart', async (t) => {
  const path = join(await emptyFolder(t), 'backup')
  await writeBackup(path)
  const whole = await readFile(path)
  await assertUnusable(path, Buffer.from('PK\x03\x04 something else'), /is not a Gantry backup/, 'foreign')
  const later = Buffer.concat([Buffer.from('GANTRY BACKUP 2\n'), whole.subarray(FIRST_LINE.length)])
  await assertUnusable(path, later, /was written by a newer Gantry/, 'later')
  await assertUnusable(path, Buffer.concat([whole, Buffer.from('x')]), /is incomplete/, 'longer')
  await assert.rejects(openBackupFile(tmpdir(), signal), /is not a file/)
})

test('contents with wrong offsets are rejected although their checksum is right', async (t) => {
  const path = join(await emptyFolder(t), 'backup')
  const body = Buffer.from('rows')
  const sha256 = createHash('sha256').update(body).digest('hex')
  const honest: Contents = {
    gantry: '1',
    created_at: '',
    schema: [],
    home: '',
    key_ids: [],
    tables: [],
    jobs: { rows: 0, section: { offset: FIRST_LINE.length, bytes: body.length, sha256 } },
    sequences: [],
    sample_repository: null,
    key: null,
  }
  const section = honest.jobs.section
  const lies: object[] = [
    { ...honest, jobs: { rows: 0, section: { ...section, offset: 0 } } },
    { ...honest, jobs: { rows: 0, section: { ...section, bytes: 1e12 } } },
    { ...honest, jobs: { rows: 0, section: { ...section, bytes: 0 } } },
    { ...honest, jobs: { rows: -1, section } },
    { ...honest, key: section },
    { ...honest, sequences: [{ name: 'x', next: '1; drop table users' }] },
    [],
  ]
  for (const lie of lies) {
    await writeFile(path, FIRST_LINE)
    await appendFile(path, body)
    await appendFile(path, encodeEnd(lie as Contents))
    await assert.rejects(openBackupFile(path, signal), UnusableFileError, JSON.stringify(lie))
  }
})
