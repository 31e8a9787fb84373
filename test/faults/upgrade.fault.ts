// What an earlier release left on disk opens with this one: stored names, sealed values, formats, migrations.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { chown, copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { zstdDecompressSync } from 'node:zlib'
import { credentialAad, variableAad } from '#model/inventory/sealed-aad.ts'
import { openKeyRing } from '#platform/crypto/key-ring.ts'
import { createSecretBox } from '#platform/crypto/secret-box.ts'
import { openDatabase } from '#platform/database/connect.ts'
import { chooseAccount } from '#platform/database/embedded/account.ts'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { urlOf } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { call, FROM_SOURCES, startGantry, temporaryHome } from '#test/support/process.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/0.1.0/', import.meta.url))
const RESTORE = fileURLToPath(new URL('../../server/ops/backup/restore.ts', import.meta.url))

const LOGIN = { email: 'admin@example.com', password: 'made by the code before' }
const PERSONAL_TOKEN = 'gty_pat_3qTs7aiVKmQMDjppIrauL_SePd3x1SphpaMhonpRnDU'
const INCOMING = {
  id: '6a1d6853-0087-48ce-8076-81433dea031c',
  path: '/hooks/Zjf5txEIkPLFpXgd8X_na8ZnxAA9rIhF-JHh4BZOKNQ/trigger',
  secret: '0123456789abcdef0123456789abcdef',
}
const OUTGOING_ID = 'b242c1a1-a076-4043-b2ae-38892fbaa64f'

test('a home of 0.1.0 opens', async (t) => {
  const gantry = await startGantry(t, { GANTRY_HOME: await unpackHome(t) })
  await assertEverythingIsThere(gantry)
})

test('a database of 0.1.0 opens as an external one, and its sealed values with the key of then', async (t) => {
  const home = await unpackHome(t)
  const server = await startEmbeddedPostgres({ home })
  later(t, () => server.stop())
  const key = (await readFile(join(home, 'secret.key'), 'utf8')).trim()
  const gantry = await startGantry(t, {
    GANTRY_HOME: await temporaryHome(t),
    DATABASE_URL: urlOf(server.connection),
    GANTRY_SECRET_KEY: key,
  })
  await assertEverythingIsThere(gantry)

  const { db, close } = openDatabase(server.connection, { onIdleError: () => {} })
  later(t, close)
  const box = createSecretBox(await openKeyRing({ home, fromEnvironment: undefined }))
  const credential = await db.selectFrom('credentials').selectAll().executeTakeFirstOrThrow()
  assert.equal(box.open(credential.secret!, credentialAad(credential.id)), 'ghp_legacytoken0123456789')
  const variable = await db.selectFrom('application_variables').selectAll().executeTakeFirstOrThrow()
  assert.equal(box.open(variable.value, variableAad(variable.id)), 'open sesame')
})

test('a backup of 0.1.0 is restored into an empty home, and opens with the key of then', async (t) => {
  const home = await temporaryHome(t)
  await copyFile(join(await unpackHome(t), 'secret.key'), join(home, 'secret.key'))
  await promisify(execFile)(process.execPath, [RESTORE, join(FIXTURE, 'backup.gantry')], {
    env: { ...FROM_SOURCES, GANTRY_HOME: home },
  })
  const gantry = await startGantry(t, { GANTRY_HOME: home })
  await assertEverythingIsThere(gantry)
})

async function assertEverythingIsThere(gantry: { url?: string }): Promise<void> {
  const login = await call(gantry, 'POST', '/users/login', { body: LOGIN })
  assert.equal(login.status, 200, 'the password is still right')
  const token = PERSONAL_TOKEN
  const me = await call(gantry, 'GET', '/users/me', { token })
  assert.equal(me.body.email, LOGIN.email, 'the personal access token is still good')

  const incoming = await call(gantry, 'GET', `/hooks/incoming/${INCOMING.id}`, { token })
  assert.equal(new URL(incoming.body.url).pathname, INCOMING.path, 'the sealed URL token opens')
  // A payload without the required variable: the signature counts, and no run starts.
  assert.equal(await statusOfCall(gantry, INCOMING.secret), 422, 'the sealed signing secret opens')
  assert.equal(await statusOfCall(gantry, 'another secret'), 403)

  const preview = await call(gantry, 'POST', `/hooks/outgoing/${OUTGOING_ID}/preview`, { token, body: {} })
  assert.equal(preview.body.body, '{"state":"completed"}', 'the stored template renders')

  const application = await call(gantry, 'GET', '/applications/1', { token })
  assert.equal(application.body.submodules, 'ignore', 'what ships is what shipped then')

  const action = await call(gantry, 'GET', '/actions/1', { token })
  assert.equal(action.body.status, 'completed')
  assert.deepEqual(action.body.triggered_from.hook_parsed_variables, { branch: 'refs/heads/main' })
  const log = await call(gantry, 'GET', '/actions/1/targets/1/steps/6/logs', { token })
  assert.equal(log.body.step.output, 'the key is ********\n')

  const entries = await call(gantry, 'GET', '/audit?per_page=100', { token })
  const lines = await fetch(`${gantry.url}/audit/export`, { headers: { authorization: `Bearer ${token}` } })
  const exported = (await lines.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(exported, entries.body.reverse(), 'audit entries are in the order in which they were made')
  assert.ok(
    exported.some((entry) => entry.organization_id !== null),
    'entries of then are there',
  )

  const calls = await call(gantry, 'GET', `/hooks/incoming/${INCOMING.id}/requests`, { token })
  assert.deepEqual(
    calls.body.map((one: Record<string, unknown>) => [one.action_id, one.response_status_code]),
    [
      [null, 403],
      [null, 422],
      [1, 202],
    ],
  )
}

async function statusOfCall(gantry: { url?: string }, secret: string): Promise<number> {
  const signature = createHmac('sha256', secret).update('{}').digest('hex')
  const { status } = await fetch(`${gantry.url}${INCOMING.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    body: '{}',
  })
  return status
}

/** As root, the data folder goes to the account that the embedded server will use. */
async function unpackHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-before-'))
  later(t, () => rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  const archive = zstdDecompressSync(await readFile(join(FIXTURE, 'home.tar.zst')))
  const untar = promisify(execFile)('tar', ['-xp', '--no-same-owner', '-C', home])
  untar.child.stdin!.end(archive)
  await untar
  if (process.getuid!() === 0) {
    const { uid, gid } = await chooseAccount(undefined)
    const data = join(home, 'postgres')
    const entries = await readdir(data, { recursive: true })
    await Promise.all(['', ...entries].map((entry) => chown(join(data, entry), uid, gid)))
  }
  return home
}
