// Compares docs/permissions.md with the running app, and then calls every route as users who must be rejected. A new
// route needs a row on that page, and a URL in `objects` when its path has parameters. UPDATE=1 writes the table
// of routes.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { after, suite, test } from 'node:test'
import type { Access, RouteAccess } from '#access/authorization/enforce.ts'
import { VISIBLE_AS } from '#access/authorization/locate.ts'
import { BUILT_IN_ROLES, PERMISSIONS, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { TOKEN_SCOPES, type TokenScope } from '#access/authorization/token-limits.ts'
import { openTestApp } from '#test/support/harness.ts'
import {
  createAction,
  createHookRequest,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'
import type { NameEntry } from '#views/names/schemas.ts'

const { app, db, request } = await openTestApp({ after })
const routes = app.accessTable.filter(({ method }) => method !== 'HEAD')
const PAGE = new URL('../../docs/permissions.md', import.meta.url)
if (process.env.UPDATE) await writeFile(PAGE, withRoutes(await readFile(PAGE, 'utf8')))
const page = await readFile(PAGE, 'utf8')

/** One row for each route, in the order of registration. */
function withRoutes(text: string): string {
  const rows = routes.map((route) => {
    const seen = visibleWith(route.access)
    return `| \`${nameOf(route)}\` | ${describeAccess(route.access)} | ${seen === 'nothing' ? '' : seen} | ${route.token ?? ''} |`
  })
  const table = rows.map((row) => `${row.replaceAll('|  |', '| |').replaceAll('|  |', '| |')}\n`).join('')
  return text.replace(/(?:^\| `[A-Z]+ \/.*\n)+/m, () => table)
}

function describeAccess(access: Access): string {
  switch (access.kind) {
    case 'public':
      return 'public'
    case 'signed-in':
      if (access.answer) return 'signed in: the same for all callers'
      if (access.requires) return `signed in: requires \`${access.requires}\``
      return access.shows ? `signed in: shows by ${quoted(access.shows)}` : 'signed in: own account'
    case 'instance-admin':
      return `instance administrator${access.or ? ', or the metrics token' : ''}`
    case 'permissions':
      return quoted(access.needs)
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function visibleWith(access: Access): string {
  if (access.kind !== 'permissions') return 'nothing'
  return `\`${VISIBLE_AS[access.of]}:view\`${access.visible ? ', or both' : ''}`
}

/** POST routes that only read: a viewer may call them. */
const READING_POSTS = ['POST /pipelines/{id}/plan']
/** And some that only read, but show more than every viewer may see. */
const GUARDED_READS = [
  'GET /organizations/{id}/audit',
  'GET /organizations/{id}/audit/export',
  'GET /organizations/{id}/export',
  'GET /hooks/outgoing/{hook_id}/stream',
]

function nameOf({ method, url }: RouteAccess): string {
  return `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`
}

const tree = await createTestTree(db)
const viewer = await createMember(db, tree, 'viewer')
const outsider = (await createTestTree(db)).owner
const admin = await createPerson(db, { admin: true })
const objects = await createObjects()

/** Real objects: the longest prefix of a route's path found here provides its URL. */
async function createObjects(): Promise<Record<string, string>> {
  const { token } = tree.owner
  const create = async (url: string, body: object): Promise<{ id: string; url?: string }> => {
    const answer = await request('POST', url, { token, body })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
  const pipeline = `/pipelines/${tree.pipelineId}`
  const incoming = await create(`${pipeline}/hooks/incoming`, { name: 'In', requires_secret: true })
  const outgoing = await create(`${pipeline}/hooks/outgoing`, {
    name: 'Out',
    target_url: 'https://example.com',
  })
  const personalToken = await create('/users/personal-access-tokens', { name: 'CI' })
  const sessions = await request('GET', '/users/me/sessions', { token })
  const identity = await db
    .insertInto('identities')
    .values({ user_id: tree.owner.id, issuer: 'https://login.example.com', subject: 'owner' })
    .returning('id')
    .executeTakeFirstOrThrow()
  const worker = await db
    .insertInto('workers')
    // Online for as long as all of this takes.
    .values({ id: randomUUID(), name: 'm1', seen_at: new Date(Date.now() + 3_600_000) })
    .returning('id')
    .executeTakeFirstOrThrow()
  const organization = `/organizations/${tree.organizationId}`
  const application = `/applications/${tree.applicationId}`
  const server = `/servers/${tree.serverIds[0]}`
  const role = await create(`${organization}/roles`, { name: 'Nothing', permissions: [] })
  const invitation = await create(`${organization}/invitations`, { email: 'new@example.com', role: 'viewer' })
  const freeze = await create(`/environments/${tree.environmentId}/freezes`, {
    name: 'Past',
    reason: 'Done',
    starts_at: '2026-01-01T00:00:00Z',
    ends_at: '2026-01-02T00:00:00Z',
  })
  const variable = await create(`${application}/variables`, { name: 'COLOUR', value: 'blue' })
  const step = await db
    .selectFrom('pipeline_steps')
    .select('id')
    .where('pipeline_id', '=', tree.pipelineId)
    .executeTakeFirstOrThrow()
  const actionId = await createAction(db, tree)
  const action = `/actions/${actionId}`
  const target = await db
    .selectFrom('targets')
    .select('id')
    .where('action_id', '=', actionId)
    .executeTakeFirstOrThrow()
  return {
    '/docs/:file': '/docs/style.css',
    '/docs/guides/*': '/docs/guides/runs',
    '/workers/:id': `/workers/${worker.id}`,
    '/organizations/:id': organization,
    '/organizations/:id/invitations/:invitation_id': `${organization}/invitations/${invitation.id}`,
    '/organizations/:id/members/:user_id': `${organization}/members/${viewer.id}`,
    '/projects/:id': `/projects/${tree.projectId}`,
    '/environments/:id': `/environments/${tree.environmentId}`,
    '/freezes/:id': `/freezes/${freeze.id}`,
    '/roles/:id': `/roles/${role.id}`,
    '/credentials/:id': `/credentials/${tree.credentialId}`,
    '/servers/:id': server,
    '/applications/:id': application,
    '/applications/:id/variables/:variable_id': `${application}/variables/${variable.id}`,
    '/resource-links/application/:id/server/:child_id': `/resource-links${application.replace('s/', '/')}${server.replace('s/', '/')}`,
    '/resource-links/server/:id/application/:child_id': `/resource-links${server.replace('s/', '/')}${application.replace('s/', '/')}`,
    '/pipelines/application/:resource_id': `/pipelines/application/${tree.applicationId}`,
    '/pipelines/server/:resource_id': `/pipelines/server/${tree.serverIds[0]}`,
    '/pipelines/:id': pipeline,
    '/pipelines/:id/steps/:step_id': `${pipeline}/steps/${step.id}`,
    '/actions/:action_id': action,
    '/actions/:action_id/targets/:target_id/steps/:order': `${action}/targets/${target.id}/steps/1`,
    '/actions/:id': action,
    '/hooks/incoming/:hook_id': `/hooks/incoming/${incoming.id}`,
    '/hooks/outgoing/:hook_id': `/hooks/outgoing/${outgoing.id}`,
    '/hooks/:token/trigger': new URL(incoming.url!).pathname,
    '/hook-requests/:id': `/hook-requests/${await createHookRequest(db, incoming.id, 'incoming')}`,
    '/users/personal-access-tokens/:id': `/users/personal-access-tokens/${personalToken.id}`,
    '/users/me/sessions/:id': `/users/me/sessions/${sessions.body[0].id}`,
    '/users/:id': `/users/${viewer.id}`,
    '/users/me/identities/:id': `/users/me/identities/${identity.id}`,
  }
}

function urlOf({ url }: RouteAccess): string {
  const known = Object.keys(objects)
    .filter((start) => url === start || url.startsWith(`${start}/`))
    .sort((one, other) => other.length - one.length)[0]
  const path = known === undefined ? url : objects[known] + url.slice(known.length)
  assert.ok(!path.includes(':'), `${url} names an object that this test does not create; add it to objects`)
  return path
}

/** They never end, and require callers to accept event streams: here 406 means that access is granted. */
const isStream = ({ url }: RouteAccess) => url.endsWith('/stream')
const isWriting = ({ method }: RouteAccess) => method !== 'GET'
const ask = (route: RouteAccess, token?: string) => {
  const body = isWriting(route) && route.method !== 'DELETE' ? {} : undefined
  return request(route.method, urlOf(route), { token, body })
}

/** The bodies of routes whose permission is that of an environment in the body. */
const BODIES: Record<string, object> = {
  'POST /repositories/inspect': {
    environment_id: tree.environmentId,
    repository: 'http://10.0.0.1/shop.git',
  },
}
const askIn = (route: RouteAccess, token: string) =>
  request(route.method, urlOf(route), { token, body: BODIES[nameOf(route)] })

suite('docs/permissions.md', () => {
  test('has one row for each route, with the access that the code requires', () => {
    const rows = [...page.matchAll(/^\| `([A-Z]+ \/[^`]*)` \| (.+?) \|([^|]*)\|([^|]*)\|$/gm)]
    const documented = rows.map(
      ([, name, who, seen, token]) =>
        `${name}: ${who}; seen with ${seen!.trim() || 'nothing'}; token: ${token!.trim()}`,
    )
    const demanded = routes.map(
      (route) =>
        `${nameOf(route)}: ${describeAccess(route.access)}; seen with ${visibleWith(route.access)}; token: ${route.token ?? ''}`,
    )
    assert.deepEqual(documented.sort(), demanded.sort())
  })

  test('has one row for each permission, with the roles that have it', () => {
    assert.ok(page.includes(`| permission | ${BUILT_IN_ROLES.join(' | ')} |`))
    const documented = [...page.matchAll(/^\| `(\w+:\w+)` \|(.*)\|$/gm)]
    assert.deepEqual(
      documented.map(([, permission, cells]) => [
        permission,
        ...cells!.split('|').map((cell) => cell.trim() === 'yes'),
      ]),
      PERMISSIONS.map((permission) => [
        permission,
        ...BUILT_IN_ROLES.map((role) => ROLE_PERMISSIONS[role].has(permission)),
      ]),
    )
  })
})

test('HEAD requires what GET requires', () => {
  for (const { url, access } of app.accessTable.filter(({ method }) => method === 'HEAD')) {
    const twin = app.accessTable.find((route) => route.method === 'GET' && route.url === url)
    assert.deepEqual(twin?.access, access, url)
  }
})

suite('without a token', () => {
  const documented = new Set(
    [...page.matchAll(/^\| `([A-Z]+ \/[^`]*)` \| public \|/gm)].map(([, name]) => name),
  )

  for (const route of routes) {
    if (documented.has(nameOf(route))) {
      test(`${nameOf(route)} is public`, async () => {
        const { status, text } = await ask(route)
        const success = route.url === '/session/oidc/callback' ? 302 : 200
        // Routes with a body may reject this one.
        assert.ok(isWriting(route) ? status !== 401 && status < 500 : status === success, text)
      })
    } else {
      test(`${nameOf(route)} is 401`, async () => {
        const { status, headers } = await ask(route)
        assert.equal(status, 401)
        assert.equal(headers['www-authenticate'], 'Bearer')
      })
    }
  }
})

suite('the owner of another organization', () => {
  for (const route of routes) {
    const { access } = route
    const name = nameOf(route)
    switch (access.kind) {
      case 'public':
        break
      case 'instance-admin':
        test(`gets 403 from ${name}`, async () => {
          assert.equal((await ask(route, outsider.token)).status, 403)
        })
        break
      case 'permissions':
        test(`gets 404 from ${name}`, async () => {
          const { status, body } = await ask(route, outsider.token)
          assert.equal(status, 404)
          assert.equal(body.code, 'not_found')
        })
        break
      case 'signed-in':
        if (access.requires !== undefined) {
          test(`gets 404 from ${name} for an environment of others`, async () => {
            assert.equal((await askIn(route, outsider.token)).status, 404)
          })
        } else if (route.url.includes(':')) {
          test(`gets 404 from ${name}`, async () => {
            assert.equal((await ask(route, outsider.token)).status, 404)
          })
        } else if (isStream(route)) {
          test(`may call ${name}`, async () => {
            assert.equal((await ask(route, outsider.token)).status, 406)
          })
        } else if (route.url === '/overview') {
          test(`sees nothing of other users in ${name}`, async () => {
            const { status, body } = await ask(route, outsider.token)
            assert.equal(status, 200)
            assert.deepEqual([body.running, body.failures, body.deliveries.failing], [[], [], []])
          })
        } else if (['/names', '/overview/applications'].includes(route.url)) {
          test(`sees nothing of other users in ${name}`, async () => {
            const { status, body } = await ask(route, outsider.token)
            assert.equal(status, 200)
            const isForeign = (one: NameEntry) => one.organization.id === tree.organizationId
            assert.deepEqual([body.length > 0, body.filter(isForeign)], [true, []])
          })
        } else if (access.shows !== undefined) {
          test(`gets an empty list from ${name}`, async () => {
            const { status, body, headers } = await ask(route, outsider.token)
            assert.equal(status, 200)
            // Every user sees their own organizations.
            const foreign = body.filter(({ id }: { id: number }) => id === tree.organizationId)
            assert.deepEqual(route.url === '/organizations' ? foreign : body, [])
            assert.equal(headers['x-total-count'], route.url === '/organizations' ? '1' : '0')
          })
        }
        break
    }
  }

  test('sees nothing of other users among their own objects', async () => {
    const own = routes.filter(
      ({ url, access }) =>
        access.kind === 'signed-in' && !access.shows && !access.answer && !url.includes(':'),
    )
    for (const route of own.filter((one) => !isWriting(one))) {
      const { status, text } = await ask(route, outsider.token)
      assert.equal(status, 200, nameOf(route))
      assert.equal(text.includes(tree.owner.email), false)
      // The outsider is signed in once, and owns one organization.
      const own = ['/users/me/sessions', '/users/me/permissions'].includes(route.url) ? 1 : 0
      if (text.startsWith('[')) assert.equal(JSON.parse(text).length, own, nameOf(route))
    }
  })
})

suite('a token that is restricted to another organization or project of its user', async () => {
  const elsewhere = await createTestTree(db)
  const { token } = await createMember(db, tree, 'owner')
  const { id: userId } = (await request('GET', '/users/me', { token })).body
  await grantRole(db, userId, 'owner', { organizationId: elsewhere.organizationId })
  const restricted = await Promise.all(
    [{ organization_ids: [elsewhere.organizationId] }, { project_ids: [elsewhere.projectId] }].map(
      async (limits) => {
        const body = { name: 'Elsewhere', ...limits }
        return (await request('POST', '/users/personal-access-tokens', { token, body })).body.token as string
      },
    ),
  )
  for (const route of routes.filter(({ access }) => access.kind === 'permissions')) {
    test(`gets 404 from ${nameOf(route)}`, async () => {
      for (const one of restricted) assert.equal((await ask(route, one)).status, 404)
    })
  }
})

suite('a viewer', () => {
  for (const route of routes) {
    if (route.access.kind !== 'permissions') continue
    const name = nameOf(route)
    const mayCall = isWriting(route) ? READING_POSTS.includes(name) : !GUARDED_READS.includes(name)
    test(`${mayCall ? 'may call' : 'gets 403 from'} ${name}`, async () => {
      const { status, body } = await ask(route, viewer.token)
      if (isStream(route) && mayCall) assert.equal(status, 406)
      else if (mayCall) assert.ok([200, 409, 422].includes(status), String(status))
      else assert.equal(body.code, 'forbidden')
    })
  }

  test('gets 403 from routes that require more in the environment of the body', async () => {
    const demanding = routes.filter(({ access }) => access.kind === 'signed-in' && access.requires)
    assert.deepEqual(demanding.map(nameOf), Object.keys(BODIES))
    for (const route of demanding) {
      const { status, body } = await askIn(route, viewer.token)
      assert.deepEqual([status, body.code], [403, 'forbidden'], nameOf(route))
      assert.equal((await askIn(route, tree.owner.token)).status, 200)
    }
  })

  test('may read what signed-in users are shown', async () => {
    const shown = routes.filter(({ access }) => access.kind === 'signed-in' && access.shows)
    for (const route of shown.filter((one) => !isStream(one))) {
      const { status, body } = await ask(route, viewer.token)
      assert.equal(status, 200, nameOf(route))
      assert.notDeepEqual(body, [], nameOf(route))
    }
  })
})

suite('a personal access token', async () => {
  const tokens = new Map<string, string>()

  async function tokenOf(person: { token: string }, scopes: readonly TokenScope[]): Promise<string> {
    const key = `${person.token} ${scopes}`
    if (!tokens.has(key)) {
      const body = { name: key.slice(-20), scopes }
      const made = await request('POST', '/users/personal-access-tokens', { token: person.token, body })
      assert.equal(made.status, 201, made.text)
      tokens.set(key, made.body.token)
    }
    return tokens.get(key)!
  }

  for (const route of routes) {
    const { token: required } = route
    if (required === null || required === 'any') continue
    const name = nameOf(route)
    if (required === 'none' || required === 'unlimited') {
      test(`with scopes gets 403 from ${name}, even with all of them`, async () => {
        const { status, body } = await ask(route, await tokenOf(tree.owner, TOKEN_SCOPES))
        assert.deepEqual([status, body.code], [403, 'forbidden'])
      })
      continue
    }
    test(`without the scope ${required} gets 403 from ${name}, which names the scope`, async () => {
      const others = TOKEN_SCOPES.filter((scope) => scope !== required)
      const person = route.access.kind === 'instance-admin' ? admin : tree.owner
      const { status, body } = await ask(route, await tokenOf(person, others))
      assert.deepEqual([status, body.code], [403, 'forbidden'])
      assert.match(body.message, new RegExp(`scope ${required}\\b`))
    })
    test(`with only the scope ${required} may call ${name} as far as its user may`, async () => {
      const allowed = await ask(route, await tokenOf(viewer, [required]))
      const expected = await ask(route, viewer.token)
      assert.deepEqual([allowed.status, allowed.body.message], [expected.status, expected.body.message])
    })
  }

  test('is revoked after these tests', async () => {
    for (const token of tokens.values())
      assert.equal((await request('POST', '/users/logout', { token })).status, 204)
  })
})

test('after all of this the objects are unchanged', async () => {
  for (const thing of ['/actions/:action_id', '/hooks/incoming/:hook_id', '/hooks/outgoing/:hook_id']) {
    assert.equal((await request('GET', objects[thing]!, { token: tree.owner.token })).status, 200, thing)
  }
  const mine = await request('GET', '/users/personal-access-tokens', { token: tree.owner.token })
  assert.equal(mine.body.length, 1)
})

test('an instance administrator sees nothing of an organization without a grant there', async () => {
  for (const route of routes.filter(({ access }) => access.kind === 'permissions')) {
    assert.equal((await ask(route, admin.token)).status, 404, nameOf(route))
  }
  for (const route of routes.filter(({ access }) => access.kind === 'instance-admin')) {
    const { status } = await ask(route, admin.token)
    // Routes with a body may reject this one.
    const expected = isWriting(route) ? [200, 201, 422] : [200]
    assert.ok(expected.includes(status), `${nameOf(route)}: ${status}`)
  }
})
