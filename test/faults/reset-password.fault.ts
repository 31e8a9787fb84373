// `npm run reset-password`: beside a running Gantry, without one, and with an external database.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import {
  ADMIN,
  ADMIN_ENVIRONMENT,
  call,
  FROM_SOURCES,
  logInAsAdmin,
  startGantry,
  temporaryHome,
} from '#test/support/process.ts'

const COMMAND = fileURLToPath(new URL('../../server/ops/commands/reset-password.ts', import.meta.url))
const GANTRY_URL = 'https://gantry.example.com'
const SETTINGS = { ...ADMIN_ENVIRONMENT, GANTRY_SAMPLE: 'false' }

type Result = { code: number; stdout: string; stderr: string }

async function run(environment: Record<string, string>, ...args: string[]): Promise<Result> {
  const env = { ...FROM_SOURCES, GANTRY_URL, ...environment }
  return promisify(execFile)(process.execPath, [COMMAND, ...args], { env }).then(
    (output) => ({ code: 0, ...output }),
    (error: Result) => error,
  )
}

async function resetPassword(environment: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await run(environment, ADMIN.email.toUpperCase())
  assert.equal(code, 0, stderr)
  const link = new URL(stdout.trim().split('\n').at(-1)!)
  assert.equal(link.href, `${GANTRY_URL}/app/reset-password${link.hash}`)
  return link.hash.slice(1)
}

const assertWorks = async (gantry: { url?: string }, token: string, password: string) => {
  const { status, body } = await call(gantry, 'POST', '/users/reset-password', { body: { token, password } })
  assert.deepEqual([status, body.user?.email], [200, ADMIN.email])
  const login = await call(gantry, 'POST', '/users/login', { body: { email: ADMIN.email, password } })
  assert.equal(login.status, 200)
}

test('it prints a link, beside a running Gantry and without one', async (t) => {
  const environment = { ...SETTINGS, GANTRY_HOME: await temporaryHome(t) }
  const running = await startGantry(t, environment)
  const session = await logInAsAdmin(running)
  const token = await resetPassword(environment)
  assert.equal((await call(running, 'GET', '/users/me', { token: session })).status, 401)
  await assertWorks(running, token, 'another horse')

  assert.equal(await running.stop(), 0)
  const second = await resetPassword(environment)
  await assertWorks(await startGantry(t, environment), second, 'a third horse')
})

test('it works with DATABASE_URL, and explains what is wrong with its arguments', async (t) => {
  const { settings, drop } = await createTestDatabase()
  later(t, drop)
  const environment = {
    ...SETTINGS,
    GANTRY_HOME: await temporaryHome(t),
    DATABASE_URL: urlOf(settings),
  }
  const gantry = await startGantry(t, environment)
  await assertWorks(gantry, await resetPassword(environment), 'another horse')

  const wrong: [RegExp, ...string[]][] = [
    [/^usage: npm run reset-password -- <email>\n$/],
    [/^usage: /, ADMIN.email, 'more'],
    [/^There is no account with the email address nobody@example\.com\.\n$/, 'nobody@example.com'],
  ]
  for (const [message, ...args] of wrong) {
    const { code, stdout, stderr } = await run(environment, ...args)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, message)
  }
})

test('it asks for a start first where the database is older, and creates none', async (t) => {
  const { settings, drop } = await createTestDatabase({ empty: true })
  later(t, drop)
  const DATABASE_URL = urlOf(settings)
  const older = await run({ ...SETTINGS, DATABASE_URL }, ADMIN.email)
  assert.deepEqual([older.code, /run npm start first/.test(older.stderr)], [1, true])
  const nowhere = await run({ ...SETTINGS, GANTRY_HOME: await temporaryHome(t) }, ADMIN.email)
  assert.deepEqual([nowhere.code, /there is no database in/.test(nowhere.stderr)], [1, true])
})
