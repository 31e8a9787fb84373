// Roles that follow the groups of the identity provider.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pino } from 'pino'
import { lockMembers } from '#manage/members/grants.ts'
import { openTestApp, type TestApp } from '#test/support/harness.ts'
import { signInAt, startIdentityProvider } from '#test/support/identity-provider.ts'
import {
  assertProblem,
  begin,
  comeBack,
  meBy,
  REDIRECT_URI,
  sessionOf,
} from '#test/support/single-sign-on.ts'
import { untilLockWait } from '#test/support/until.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const provider = await startIdentityProvider({ after }, REDIRECT_URI)
const logged: string[] = []
const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) })
const first = await openTestApp({ after })
const { db } = first
const [tree, other] = [await createTestTree(db), await createTestTree(db)]
const scope = await namesOf(tree)
const elsewhere = await namesOf(other)
const role = await db
  .insertInto('roles')
  .values({ organization_id: tree.organizationId, name: 'Release manager', permissions: ['pipeline:run'] })
  .returning('id')
  .executeTakeFirstOrThrow()

const { organization, project, environment } = scope
const app = await openTestApp(
  { after },
  {
    beside: first,
    log,
    environment: {
      ...provider.environment,
      GANTRY_OIDC_SIGNUP: 'true',
      GANTRY_OIDC_GROUP_ROLES: JSON.stringify({
        developers: [
          { organization, role: 'developer' },
          { organization: elsewhere.organization, role: 'viewer' },
        ],
        staging: [{ organization, project, environment, role: 'admin' }],
        release: [{ organization, project, role: 'Release manager' }],
        owners: [{ organization, role: 'owner' }],
        broken: [
          { organization: 'nowhere', role: 'viewer' },
          { organization, project: 'nothing', role: 'viewer' },
          { organization, project, environment: 'nothing', role: 'viewer' },
          { organization, role: 'Instance administrator' },
          { organization: elsewhere.organization, role: 'Release manager' },
        ],
      }),
    },
  },
)

async function namesOf({ organizationId, projectId, environmentId }: typeof tree) {
  const nameOf = (table: 'projects' | 'environments', id: number) =>
    db.selectFrom(table).select('name').where('id', '=', id).executeTakeFirstOrThrow()
  const { url_slug: organization } = await db
    .selectFrom('organizations')
    .select('url_slug')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return {
    organization,
    project: (await nameOf('projects', projectId)).name,
    environment: (await nameOf('environments', environmentId)).name,
  }
}

let counter = 0
const newLogin = () => `member${++counter}`

/** Signs in as a member of these groups. */
async function signIn(login: string, groups: unknown, by: TestApp = app) {
  provider.people.set(login, { email: `${login}@example.com`, groups })
  const { url, cookie } = await begin(by)
  return meBy(by, sessionOf(await comeBack(by, await signInAt(url, login), cookie)))
}

/** In short: `developer organization oidc`. */
async function grantsOf(userId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('grants')
    .leftJoin('roles', 'roles.id', 'grants.role_id')
    .select(['built_in_role', 'name', 'grants.organization_id', 'project_id', 'environment_id', 'source'])
    .where('user_id', '=', userId)
    .execute()
  return rows
    .map((row) => {
      const level = row.environment_id ? 'environment' : row.project_id ? 'project' : 'organization'
      const where = row.organization_id === tree.organizationId ? level : `other ${level}`
      return `${row.built_in_role ?? row.name} ${where} ${row.source}`
    })
    .sort()
}

test('groups give roles on organizations, projects and environments, built-in or custom', async () => {
  const me = await signIn(newLogin(), ['developers', 'staging', 'release', 'unmapped'])
  assert.deepEqual(await grantsOf(me.id), [
    'Release manager project oidc',
    'admin environment oidc',
    'developer organization oidc',
    'viewer other organization oidc',
  ])
})

test('each sign-in replaces them; what people granted stays', async () => {
  const login = newLogin()
  const me = await signIn(login, ['developers', 'release'])
  await db
    .insertInto('grants')
    .values({ user_id: me.id, organization_id: tree.organizationId, built_in_role: 'viewer' })
    .execute()
  await signIn(login, 'staging')
  assert.deepEqual(await grantsOf(me.id), ['admin environment oidc', 'viewer organization manual'])
  await signIn(login, undefined)
  assert.deepEqual(await grantsOf(me.id), ['viewer organization manual'])
})

test('a role that somebody granted by hand is not mapped a second time, nor taken', async () => {
  const login = newLogin()
  const me = await signIn(login, [])
  await db
    .insertInto('grants')
    .values({ user_id: me.id, organization_id: tree.organizationId, built_in_role: 'developer' })
    .execute()
  await signIn(login, ['developers'])
  assert.deepEqual(await grantsOf(me.id), ['developer organization manual', 'viewer other organization oidc'])
  await signIn(login, [])
  assert.deepEqual(await grantsOf(me.id), ['developer organization manual'])
})

test('the members list marks mapped roles', async () => {
  const me = await signIn(newLogin(), ['staging'])
  const { body } = await app.request('GET', `/organizations/${tree.organizationId}/members/${me.id}`, {
    token: tree.owner.token,
  })
  assert.deepEqual(
    body.grants.map((grant: { role: string; source: string }) => [grant.role, grant.source]),
    [['admin', 'oidc']],
  )
})

test('roles that name something unknown are skipped, with a line in the log', async () => {
  const me = await signIn(newLogin(), ['broken', 'staging'])
  assert.deepEqual(await grantsOf(me.id), ['admin environment oidc'])
  const line = logged.map((text) => JSON.parse(text)).findLast(({ msg }) => msg === 'mapped roles skipped')
  assert.equal(line.user_id, me.id)
  assert.deepEqual(line.roles.map(({ reason }: { reason: string }) => reason).sort(), [
    'environment',
    'organization',
    'project',
    'role',
    'role',
  ])
})

test('nobody becomes an instance administrator', async () => {
  const me = await signIn(newLogin(), ['owners', 'broken'])
  const { is_instance_admin } = await db
    .selectFrom('users')
    .select('is_instance_admin')
    .where('id', '=', me.id)
    .executeTakeFirstOrThrow()
  assert.equal(is_instance_admin, false)
})

test('the last owner of an organization stays its owner', async () => {
  const login = newLogin()
  const me = await signIn(login, ['owners', 'developers'])
  const others = await db
    .deleteFrom('grants')
    .where('organization_id', '=', tree.organizationId)
    .where('built_in_role', '=', 'owner')
    .where('user_id', '<>', me.id)
    .returningAll()
    .execute()
  await signIn(login, [])
  assert.deepEqual(await grantsOf(me.id), ['owner organization oidc'])
  await db
    .insertInto('grants')
    .values(others.map(({ id, ...grant }) => grant))
    .execute()
  await signIn(login, [])
  assert.deepEqual(await grantsOf(me.id), [])
})

test('changes by groups are in the audit log of the organization', async () => {
  const login = newLogin()
  const me = await signIn(login, ['staging'])
  await signIn(login, ['developers'])
  await signIn(login, [])
  const entries = await db
    .selectFrom('audit_entries')
    .select(['verb', 'user_id', 'after'])
    .where('organization_id', '=', tree.organizationId)
    .where('subject_type', '=', 'member')
    .where('subject_id', '=', String(me.id))
    .orderBy('id')
    .execute()
  assert.deepEqual(
    entries.map(({ verb, user_id }) => [verb, user_id]),
    [
      ['created', me.id],
      ['changed', me.id],
      ['removed', me.id],
    ],
  )
})

test('unlinking takes the roles that came with the identity', async () => {
  const login = newLogin()
  const me = await signIn(login, ['developers'])
  await db.updateTable('users').set({ password_hash: 'x' }).where('id', '=', me.id).execute()
  const { url, cookie } = await begin(app)
  const session = sessionOf(await comeBack(app, await signInAt(url, login), cookie))
  const headers = { cookie: session, 'x-gantry-request': '1' }
  const [{ id }] = (await app.request('GET', '/users/me/identities', { headers })).body
  assert.equal((await app.request('DELETE', `/users/me/identities/${id}`, { headers })).status, 204)
  assert.deepEqual(await grantsOf(me.id), [])
})

test('sign-ins at once, and changes of members meanwhile, leave one consistent result', async () => {
  const logins = Array.from({ length: 6 }, newLogin)
  const viewers = await Promise.all(logins.map(() => createPerson(db)))
  await db
    .insertInto('grants')
    .values(
      viewers.map(({ id }) => ({
        user_id: id,
        organization_id: tree.organizationId,
        built_in_role: 'viewer' as const,
      })),
    )
    .execute()
  const people = await Promise.all(logins.map((login) => signIn(login, [])))
  const changes = viewers.map(({ id }) =>
    app.request('PUT', `/organizations/${tree.organizationId}/members/${id}`, {
      token: tree.owner.token,
      body: { grants: [{ role: 'viewer' }, { role_id: role.id }] },
    }),
  )
  await Promise.all(logins.flatMap((login) => [signIn(login, ['developers']), signIn(login, ['developers'])]))
  for (const { status, text } of await Promise.all(changes)) assert.equal(status, 200, text)
  for (const { id } of people)
    assert.deepEqual(await grantsOf(id), ['developer organization oidc', 'viewer other organization oidc'])
})

test('accepting an invitation while signing up with its address leaves one account, and no deadlock', async () => {
  const login = newLogin()
  const email = `${login}@example.com`
  const invited = await app.request('POST', `/organizations/${tree.organizationId}/invitations`, {
    token: tree.owner.token,
    body: { email, role: 'viewer' },
  })
  const token = invited.body.url.split('#')[1]
  provider.people.set(login, { email, groups: ['developers'] })
  const { url, cookie } = await begin(app)
  const callback = await signInAt(url, login)
  const gate = await db.startTransaction().execute()
  await lockMembers(gate, tree.organizationId)
  const accepting = app.request('POST', '/users/accept-invitation', {
    body: { token, password: 'a long one' },
  })
  await untilLockWait(db)
  const signingUp = comeBack(app, callback, cookie)
  await untilLockWait(db, 2)
  await gate.commit().execute()
  assert.equal((await accepting).status, 200)
  assertProblem(await signingUp, 'sso_email_taken')
})
