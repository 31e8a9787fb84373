// A database of the version before invitations had addresses of their own: everybody can still sign in, and what runs
// still runs. See test/fixtures/README.md.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { openDatabase } from '#platform/database/connect.ts'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { later } from '#test/support/later.ts'
import { call, FROM_SOURCES, startGantry, temporaryHome } from '#test/support/process.ts'
import { startSshd } from '#test/support/sshd.ts'
import { until } from '#test/support/until.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/before-invitations/backup.gantry', import.meta.url))
const RESTORE = fileURLToPath(new URL('../../server/ops/backup/restore.ts', import.meta.url))
const KEY = Buffer.from('a key only for the fixture, 32 b').toString('base64')

const ADMIN = { email: 'admin@example.com', password: 'made by the code before' }
const VERA = {
  email: 'vera@example.com',
  password: 'the password of vera',
  accessToken: 'gty_at_XhZ7220tZm2N4D8UDas4c32eTtkqZW8kKdFFGWgC6Mk',
  refreshToken: 'gty_rt_AKVCQ2nnh0ZNf8uZUGI9uzYE8rXv5-Fb7Ylol2ajL1U',
  personalToken: 'gty_pat_FD3SvldWkR3CumgmISkT7uMdeXzZDJMFUdCc8CRnuyk',
  cookie: 'gantry_session=gty_at_AzmKH9KFWjflJzdchEW9eMHyTd0jAEopyfxpPSip_Jg',
}
const DEACTIVATED = {
  email: 'gone@example.com',
  password: 'the password of gone',
  personalToken: 'gty_pat_-4SsGq9UCPwhNWRMnYHXzqphfnr9Itw64aHJP30ZZ_g',
}
const PUSH = {
  path: '/hooks/Frlwgh8msHKVJpqi6Y7UPnVQ_9bXIqhM2CRHjWY67eg/trigger',
  secret: 'c61511889a67a2bcb6539c9b26a3e56f2b28c42dc90ca0b28b8475377bec6874',
  header: 'x-hub-signature-256',
}
const ODD_HEADER = {
  path: '/hooks/J-TGboeXno0-cbn9CHJN8A2NxXrRogmU-e6WPTXe7hI/trigger',
  secret: '9493d2d94ff241c284511ecb33c28f5a05b5bfc7f0a40fc46ac772f57240276f',
  header: 'cookie',
}
const LINKS = {
  several: 'gty_in_EdSZrG3LoSdbiaagyVTvAozLlqXPVRRDFEpb0lkfbuU',
  expired: 'gty_in_gj3AchU_RqMEPBvfkDPwKEs-qi9S9qc2EnvoOZGQoFg',
  inviterGone: 'gty_in_MesOuN0IkJfJvnyQjTGgBl9NE2rmF6Ptar4mGXBZUBw',
  elsewhere: 'gty_in_xS5_eoQM1CidELuCPWYYgAowXQo4yRYU99dE0EQ1_S8',
}
const [ORGANIZATION, ELSEWHERE] = [1, 2]
const OUTGOING_ID = 'ea906092-b57e-4e45-b633-70a36525879a'
const [SSH_SERVER, SSH_CREDENTIAL] = [2, 1]

const home = await temporaryHome({ after })
const { settings, drop } = await createTestDatabase({ empty: true })
later({ after }, drop)
const environment = {
  GANTRY_HOME: home,
  DATABASE_URL: urlOf(settings),
  GANTRY_SECRET_KEY: KEY,
  GANTRY_ALLOW_TARGETS: '127.0.0.1',
}
await promisify(execFile)(process.execPath, [RESTORE, FIXTURE], {
  env: { ...FROM_SOURCES, ...environment },
})
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(close)
// The old root directory was in a folder that only existed where the fixture was made.
await db
  .updateTable('servers')
  .set({ root_directory: join(home, 'sites') })
  .where('provider_code', '=', 'local')
  .execute()
const gantry = await startGantry({ after }, environment)
const login = await call(gantry, 'POST', '/users/login', { body: ADMIN })
const admin: string = login.body.access_token

const get = (path: string, token = admin) => call(gantry, 'GET', path, { token })

test('everybody can still sign in by password, session, cookie and token', async () => {
  const { email, password, accessToken, refreshToken, personalToken, cookie } = VERA
  assert.equal((await call(gantry, 'POST', '/users/login', { body: { email, password } })).status, 200)
  for (const token of [accessToken, personalToken])
    assert.equal((await get('/users/me', token)).body.email, email)
  const byCookie = await fetch(`${gantry.url}/session`, { headers: { cookie } })
  assert.equal(byCookie.status, 200)
  const body = { refresh_token: refreshToken }
  const refreshed = await call(gantry, 'POST', '/users/refresh-token', { body })
  assert.equal((await get('/users/me', refreshed.body.access_token)).body.email, email)
})

test('deactivated people stay out', async () => {
  const { email, password, personalToken } = DEACTIVATED
  const login = await call(gantry, 'POST', '/users/login', { body: { email, password } })
  assert.equal(login.status, 401)
  assert.equal((await get('/users/me', personalToken)).status, 401)
})

const post = (path: string, body: object, token?: string) => call(gantry, 'POST', path, { token, body })

test('pending people are invitations, without an account', async () => {
  const { body: members } = await get(`/organizations/${ORGANIZATION}/members`)
  assert.deepEqual(
    members.map(({ user }: { user: { email: string } }) => user.email),
    [DEACTIVATED.email, VERA.email, ADMIN.email],
  )
  const { body: invitations } = await get(`/organizations/${ORGANIZATION}/invitations`)
  assert.deepEqual(
    invitations.map(({ email, grants }: { email: string; grants: { role_name: string }[] }) => [
      email,
      ...grants.map(({ role_name }) => role_name),
    ]),
    [
      ['late@example.com', 'viewer'],
      ['expired@example.com', 'viewer'],
      ['Several@Example.com', 'viewer', 'developer', 'Release manager'],
    ],
  )
  const users = await db.selectFrom('users').select('email').orderBy('id').execute()
  assert.deepEqual(
    users.map(({ email }) => email),
    [ADMIN.email, VERA.email, DEACTIVATED.email],
  )
})

test('a pending link still works, once, and grants everything that was granted before', async () => {
  const { body: shown } = await post('/users/read-invitation', { token: LINKS.several })
  assert.deepEqual([shown.email, shown.name, shown.account], ['Several@Example.com', 'Several Roles', 'new'])
  const input = { token: LINKS.several, password: 'chosen after the upgrade' }
  const accepted = await post('/users/accept-invitation', input)
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body))
  const { user } = accepted.body
  const { body: member } = await get(`/organizations/${ORGANIZATION}/members/${user.id}`)
  assert.deepEqual(
    member.grants.map((grant: Record<string, unknown>) => [
      grant.role_name,
      grant.project_id,
      grant.environment_id,
    ]),
    [
      ['viewer', null, null],
      ['developer', 1, 1],
      ['Release manager', 1, null],
    ],
  )
  const login = { email: 'several@example.com', password: input.password }
  assert.equal((await post('/users/login', login)).status, 200)
  assert.equal((await post('/users/accept-invitation', input)).status, 422)
})

test('a pending link that has expired, or whose inviter was deactivated, does not work', async () => {
  for (const token of [LINKS.expired, LINKS.inviterGone]) {
    const { status, body } = await post('/users/accept-invitation', { token, password: 'let me in, please' })
    assert.deepEqual([status, Object.keys(body.errors)], [422, ['token']])
  }
})

test('a pending link leads into its own organization only', async () => {
  const email = 'elsewhere@example.com'
  const path = `/organizations/${ORGANIZATION}/invitations`
  assert.equal((await post(path, { email, role: 'viewer' }, admin)).status, 201)
  const input = { token: LINKS.elsewhere, password: 'chosen by the link holder' }
  const { body } = await post('/users/accept-invitation', input)
  const { body: organizations } = await get('/organizations', body.access_token)
  assert.deepEqual(
    organizations.map(({ id }: { id: number }) => id),
    [ELSEWHERE],
  )
})

test('pipelines run with hidden values of less than six characters, and notify with the stored body', async (t) => {
  const receiver = await openReceiver(t)
  await db.updateTable('hooks').set({ target_url: receiver.url }).where('id', '=', OUTGOING_ID).execute()
  for (const hook of [PUSH, ODD_HEADER]) {
    const id = await callHook(hook)
    const action = await until('the run ends', 60_000, async () => {
      const { body } = await get(`/actions/${id}`)
      return ['completed', 'failed'].includes(body.status) && body
    })
    assert.equal(action.status, 'completed', 'the step compares both values')
    const log = await get(`/actions/${id}/targets/${action.targets[0].id}/steps/1/logs`)
    assert.match(log.body.step.output, /^the pin is /)
  }
  const last = await until('the last notification', 60_000, () =>
    receiver.arrivals.find(({ body }) => body.includes('completed')),
  )
  assert.equal(
    last.body,
    '{"zeta":1,"alpha":9007199254740992,"build":12345678901234567000,"state":"completed"}',
  )
})

async function callHook({ path, secret, header }: typeof PUSH): Promise<number> {
  const body = '{"ref":"refs/heads/main"}'
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const answer = await fetch(`${gantry.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [header]: signature },
    body,
  })
  assert.equal(answer.status, 202)
  return ((await answer.json()) as { action_id: number }).action_id
}

test('an SSH server on a loopback address is reached, with the stored key', async (t) => {
  const { body: credential } = await get(`/credentials/${SSH_CREDENTIAL}`)
  const sshd = await startSshd(t, { authorized: credential.public_key })
  const { name, home } = sshd.accounts[0]!
  await sql`update servers set port = ${sshd.port}, login_name = ${name}, root_directory = ${home}
    where id = ${SSH_SERVER}`.execute(db)
  const { status, body } = await call(gantry, 'POST', `/servers/${SSH_SERVER}/check`, {
    token: admin,
    body: {},
  })
  assert.deepEqual([status, body.ok], [200, true], JSON.stringify(body))
})
