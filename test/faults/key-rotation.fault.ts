import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Insertable, sql } from 'kysely'
import pg from 'pg'
import { SEALED_COLUMNS } from '#ops/key-rotation/reseal.ts'
import { decodeKeys, loadMasterKeys } from '#platform/crypto/master-key.ts'
import { createSecretBox, type Keys, keyId, type SecretBox } from '#platform/crypto/secret-box.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { type ConnectionSettings, type Database, openDatabase } from '#platform/database/connect.ts'
import type { HooksTable } from '#platform/database/tables.ts'
import { sign } from '#test/support/calls.ts'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import {
  ADMIN_ENVIRONMENT,
  call,
  FROM_SOURCES,
  logInAsAdmin,
  startGantry,
  temporaryHome,
} from '#test/support/process.ts'
import { until } from '#test/support/until.ts'
import { createHook, createTestTree, type TestTree } from '#test/support/world.ts'

const HOOKS = 250

test('every bytea column is known: it has sealed values, or never does', async (t) => {
  const { db } = await openTestDatabase(t)
  const { rows } = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and data_type = 'bytea'`.execute(db)
  const sealed = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)
  assert.deepEqual(rows.map((row) => row.name).toSorted(), [...sealed, ...NEVER_SEALED].toSorted())
})

/** Hashes and bodies. */
const NEVER_SEALED = [
  'delivery_claims.key',
  'device_codes.device_hash',
  'device_codes.user_code_hash',
  'hook_requests.request_body',
  'hook_requests.response_body',
  'hooks.url_token_hash',
  'invitations.hash',
  'login_authorizations.code_challenge',
  'login_authorizations.code_hash',
  'login_failures.subject',
  'oidc_attempts.browser_hash',
  'oidc_attempts.invitation_hash',
  'oidc_attempts.state_hash',
  'password_resets.hash',
  'tokens.hash',
  'webhook_removals.url_token_hash',
]

test('the key is rotated while hooks are called and secrets are read, without a failure', async (t) => {
  const { db, environment, home, gantry, token } = await openInstallation(t)
  const [older] = await loadMasterKeys({ home })
  await fill(db, createSecretBox([older]))
  const hooks = '/pipelines/1/hooks/incoming'
  const makeHook = (name: string) =>
    call(gantry, 'POST', hooks, { token, body: { name, requires_secret: true } })
  const [called, changed] = [(await makeHook('Called')).body, (await makeHook('Changed')).body]

  const done = new AbortController()
  const answers: string[] = []
  const change = () =>
    call(gantry, 'POST', `/hooks/incoming/${changed.id}/rotate-secret`, { token, body: {} })
  const users = [
    { name: 'call', use: () => callSigned(gantry, called), everyMs: 0 },
    { name: 'read', use: () => call(gantry, 'GET', `/hooks/incoming/${called.id}`, { token }), everyMs: 0 },
    { name: 'make', use: () => makeHook('Meanwhile'), everyMs: 100 },
    { name: 'change', use: change, everyMs: 100 },
  ].map(async ({ name, use, everyMs }) => {
    for (; !done.signal.aborted; await pause(everyMs)) answers.push(`${name} ${(await use()).status}`)
  })
  const rotation = await rotateKey(environment)
  done.abort()
  await Promise.all(users)

  assert.equal(rotation.code, 0, rotation.output)
  assert.deepEqual([...new Set(answers)].toSorted(), ['call 200', 'change 200', 'make 201', 'read 200'])
  const keys = await loadMasterKeys({ home })
  assert.equal(keys.length, 1)
  assert.ok(!keys[0].equals(older))
  assert.deepEqual(decodeKeys(await readFile(join(home, 'secret.key.retired'), 'utf8')), [older])
  assert.ok(!rotation.output.includes(keys[0].toString('hex')), 'no key is printed')
  await assertAllUnder(db, keys)
  assert.equal((await makeHook('After')).status, 201)
  await assertAllUnder(db, keys)
  assert.equal(await gantry.stop(), 0)
  const next = await startGantry(t, environment)
  assert.equal((await callSigned(next, called)).status, 200)
  assert.equal(await next.stop(), 0)
})

test('a rotation that was killed is completed by the next one', async (t) => {
  const { db, settings, environment, home, gantry } = await openInstallation(t)
  const [older] = await loadMasterKeys({ home })
  const { lastHook, tree } = await fill(db, createSecretBox([older]))
  // Someone holds a row of the second batch; the rotation stops there.
  const holder = new pg.Client({ ...settings, application_name: 'gantry maintenance' })
  await holder.connect()
  later(t, () => holder.end())
  await holder.query('begin')
  await holder.query('select from hooks where id = $1 for update', [lastHook])
  const { pid } = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!
  const halfway = startRotation(environment)
  await until('the rotation waits for the lock', 60_000, async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and ${pid} = any(pg_blocking_pids(pid))`.execute(
      db,
    )
    return rows.length > 0
  })
  const closed = once(halfway, 'close')
  halfway.kill('SIGKILL')
  await closed
  await holder.query('rollback')

  const both = await loadMasterKeys({ home })
  assert.equal(both.length, 2)
  assert.ok(both[1]!.equals(older))
  const counts = await countByKey(db)
  assert.deepEqual(Object.keys(counts).toSorted(), both.map(idOf).toSorted(), 'values of both keys')
  await assertReadable(gantry, tree)

  const again = await rotateKey(environment)
  assert.equal(again.code, 0, again.output)
  assert.match(again.output, /continuing an unfinished rotation/)
  const keys = await loadMasterKeys({ home })
  assert.deepEqual(keys, [both[0]])
  await assertAllUnder(db, keys)
  await assertReadable(gantry, tree)
  assert.equal(await gantry.stop(), 0)
})

test('keys from the environment are rotated by setting both, the new one first', async (t) => {
  const [older, newer] = [randomBytes(32), randomBytes(32)]
  const { db, settings } = await openTestDatabase(t)
  const environment = { GANTRY_HOME: await temporaryHome(t), DATABASE_URL: urlOf(settings) }
  const box = createSecretBox([older])
  await db
    .insertInto('key_check')
    .values({ sealed: box.seal('gantry', 'key_check') })
    .execute()
  await fill(db, box)
  const broken = await createHook(db, await createTestTree(db), 'outgoing')

  const alone = await rotateKey({ ...environment, GANTRY_SECRET_KEY: textOf(older) })
  assert.equal(alone.code, 1)
  assert.match(alone.output, /GANTRY_SECRET_KEY=<new>,<old> npm run rotate-key/)
  const wrong = await rotateKey({ ...environment, GANTRY_SECRET_KEY: textOf(newer, randomBytes(32)) })
  assert.equal(wrong.code, 1)
  assert.match(wrong.output, /were sealed with another key/)
  const right = await rotateKey({ ...environment, GANTRY_SECRET_KEY: textOf(newer, older) })
  assert.equal(right.code, 0, right.output)
  assert.match(right.output, new RegExp(`left unchanged:\\n.*hooks.secret of ${broken}`))
  await db.deleteFrom('hooks').where('id', '=', broken).execute()
  await sql`update credentials set secret = null, auth_type = 'none' where secret = 'sealed'`.execute(db)
  await assertAllUnder(db, [newer])
})

async function openTestDatabase(t: TestContext): Promise<{ db: Database; settings: ConnectionSettings }> {
  const { settings, drop } = await createTestDatabase()
  later(t, drop)
  const database = openDatabase(settings, { onIdleError: () => {} })
  later(t, () => database.close())
  return { db: database.db, settings }
}

/** A Gantry with a key file, at work. */
async function openInstallation(t: TestContext) {
  const { db, settings } = await openTestDatabase(t)
  const home = await temporaryHome(t)
  const environment = { GANTRY_HOME: home, DATABASE_URL: urlOf(settings) }
  const gantry = await startGantry(t, { ...environment, ...ADMIN_ENVIRONMENT })
  return { db, settings, home, environment, gantry, token: await logInAsAdmin(gantry) }
}

/** As a sender does, which tries again after a 503: calls are evaluated again while hooks change, but not forever. */
async function callSigned(
  gantry: { url?: string },
  hook: { url: string; secret: string },
): Promise<{ status: number }> {
  for (;;) {
    const { status } = await fetch(`${gantry.url}${new URL(hook.url).pathname}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-hub-signature-256': sign(hook.secret, '{}'),
        // Verified like any other call, and starts nothing.
        'x-github-event': 'ping',
      },
      body: '{}',
    })
    if (status !== 503) return { status }
  }
}

/** More values than one batch takes, of every column; returns the hook that comes last. */
async function fill(db: Database, box: SecretBox): Promise<{ lastHook: string; tree: TestTree }> {
  const tree = await createTestTree(db)
  const credential = box.seal('token', `credentials/${tree.credentialId}/secret`)
  await db
    .updateTable('credentials')
    .set({ secret: credential })
    .where('id', '=', tree.credentialId)
    .execute()
  const { id } = await db
    .insertInto('application_variables')
    .values({ application_id: tree.applicationId, name: 'NAME', value: Buffer.from('') })
    .returning('id')
    .executeTakeFirstOrThrow()
  const value = box.seal('value', `application_variables/${id}/value`)
  await db.updateTable('application_variables').set({ value }).where('id', '=', id).execute()
  const hooks = Array.from({ length: HOOKS }, () => randomUUID())
  await db
    .insertInto('hooks')
    .values(hooks.map((hook) => sealedHook(hook, tree, box)))
    .execute()
  return { lastHook: hooks.toSorted().at(-1)!, tree }
}

function sealedHook(id: string, tree: TestTree, box: SecretBox): Insertable<HooksTable> {
  const secret = box.seal('secret', `hooks/${id}/secret`)
  return {
    id,
    pipeline_id: tree.pipelineId,
    environment_id: tree.environmentId,
    type: 'incoming',
    name: 'Sealed',
    action_type: 'deploy',
    requires_secret: false,
    url_token: box.seal(id, `hooks/${id}/url_token`),
    url_token_hash: hashToken(id),
    secret,
    previous_secret: secret,
    previous_secret_until: new Date(),
    settings: '{}',
    trigger_when: '{}',
    created_by: tree.owner.id,
    edited_by: tree.owner.id,
  }
}

/** The address of every hook is shown, which is sealed. */
async function assertReadable(gantry: { url?: string }, { owner, pipelineId }: TestTree): Promise<void> {
  let hooks = 0
  for (let page = 1; hooks < HOOKS; page++) {
    const path = `/pipelines/${pipelineId}/hooks?per_page=100&page=${page}`
    const { status, body } = await call(gantry, 'GET', path, { token: owner.token })
    assert.equal(status, 200)
    assert.ok(
      body.length > 0 && body.every((hook: { id: string; url: string }) => hook.url.includes(hook.id)),
    )
    hooks += body.length
  }
}

/** How many values are under which key. */
async function countByKey(db: Database): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { table, column } of SEALED_COLUMNS) {
    const { rows } = await sql<{ id: string; count: number }>`
      select encode(substring(${sql.ref(column)} from 2 for 4), 'hex') as id, count(*) from ${sql.table(table)}
      where ${sql.ref(column)} is not null group by 1`.execute(db)
    for (const { id, count } of rows) counts[id] = (counts[id] ?? 0) + count
  }
  return counts
}

/** Not only by their labels: everything opens. */
async function assertAllUnder(db: Database, keys: Keys): Promise<void> {
  assert.deepEqual(Object.keys(await countByKey(db)), keys.map(idOf))
  const box = createSecretBox(keys)
  for (const { table, column, key, aad } of SEALED_COLUMNS) {
    const { rows } = await sql<{ key: string; sealed: Buffer }>`
      select ${sql.ref(key)}::text as key, ${sql.ref(column)} as sealed from ${sql.table(table)}
      where ${sql.ref(column)} is not null`.execute(db)
    for (const row of rows) box.open(row.sealed, aad(row.key))
  }
}

const idOf = (key: Buffer) => keyId(key).toString('hex')
const textOf = (...keys: Buffer[]) => keys.map((key) => key.toString('hex')).join(',')

function startRotation(environment: Record<string, string>): ChildProcess {
  const script = fileURLToPath(new URL('../../server/ops/key-rotation/rotate-key.ts', import.meta.url))
  return spawn(process.execPath, [script], {
    env: { ...FROM_SOURCES, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function rotateKey(
  environment: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const child = startRotation(environment)
  const [output, errors] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')])
  return { code: child.exitCode, output: output + errors }
}
