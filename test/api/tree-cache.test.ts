// What a process keeps of the tree in memory is never older than the request that reads it.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import pg from 'pg'
import { createTree } from '#model/inventory/tree.ts'
import { testServer } from '#test/support/database.ts'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import { addEnvironment, createAction, createMember, createTestTree } from '#test/support/world.ts'

let closeApp = async () => {}
const { db, request, statements } = await openTestApp({
  after(close: () => Promise<void>) {
    closeApp = close
  },
})
const tree = await createTestTree(db)
const id = await createAction(db, tree, { credential_id: tree.credentialId, triggered_by: tree.owner.id })
const { token } = await createMember(db, tree, 'viewer')

/** Another process: a connection of its own, that knows nothing of what this one keeps. */
const other = new pg.Client({ ...testServer(), database: await databaseName() })
await other.connect()
after(async () => {
  await other.end()
  await closeApp()
})

async function databaseName(): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  return rows[0]!.name
}

async function read(): Promise<Answer['body']> {
  return (await request('GET', `/actions/${id}`, { token })).body
}

async function listed(): Promise<Answer['body']> {
  return (await request('GET', '/actions', { token })).body.find((one: { id: number }) => one.id === id)
}

describe('a change made by another connection shows in the next read', () => {
  const shown: [string, string, number, (action: Answer['body']) => unknown][] = [
    ['organizations', 'name', tree.organizationId, (action) => action.environment.project.organization.name],
    ['projects', 'name', tree.projectId, (action) => action.project.name],
    ['environments', 'description', tree.environmentId, (action) => action.environment.description],
    ['applications', 'name', tree.applicationId, (action) => action.resource.data.name],
    ['credentials', 'name', tree.credentialId, (action) => action.resource.data.credential.name],
    ['servers', 'name', tree.serverIds[0]!, (action) => action.targets[0].resource_data.name],
    ['users', 'name', tree.owner.id, (action) => action.organization.owner.name],
  ]
  for (const [table, column, rowId, look] of shown) {
    test(`of ${table}`, async () => {
      await read()
      const name = `New name in ${table}`
      await other.query(`update ${table} set ${column} = $1 where id = $2`, [name, rowId])
      assert.equal(look(await read()), name)
      await other.query(`update ${table} set ${column} = $1 where id = $2`, [`${name} again`, rowId])
      assert.equal(look(await listed()), `${name} again`)
    })
  }

  test('of the user who started the action', async () => {
    await read()
    await other.query('update users set language = $1 where id = $2', ['pt', tree.owner.id])
    assert.equal((await read()).triggered_by_user.language, 'pt')
  })

  test('of which deployment is live', async () => {
    assert.equal((await read()).resource.data.last_deployments.live, null)
    await other.query('insert into live_releases values ($1, $2, $3, $4)', [
      tree.applicationId,
      tree.serverIds[0],
      id,
      '20260101000000-aaaaaaa',
    ])
    assert.equal((await read()).resource.data.last_deployments.live.id, id)
  })

  test('of counts', async () => {
    const count = async () => {
      const { resource_summary } = (await listed()).environment
      return resource_summary.find((one: { resource_type: string }) => one.resource_type === 'server').summary
        .count
    }
    const before = await count()
    await other.query(
      `insert into servers (environment_id, name, provider_code, root_directory, created_by)
       values ($1, 'one more', 'local', '/srv', $2)`,
      [tree.environmentId, tree.owner.id],
    )
    assert.equal(await count(), before + 1)
  })

  test('of the set of environments', async () => {
    await listed()
    const place = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const inNew = await createAction(db, place)
    const { body } = await request('GET', '/actions', { token })
    assert.equal(body[0].id, inNew)
    assert.equal((await request('GET', `/actions/${inNew}`, { token })).status, 200)
  })
})

test('a change does not show before it is committed, nor when it is rolled back', async () => {
  const { name } = (await read()).organization
  await other.query('begin')
  await other.query('update organizations set name = $1 where id = $2', ['Undecided', tree.organizationId])
  assert.equal((await read()).organization.name, name)
  await other.query('rollback')
  assert.equal((await read()).organization.name, name)
})

test('what is in memory is not loaded again until something changes', async () => {
  const ofTree = () =>
    statements.filter((text) => /from "(organizations|projects|environments|pipelines)"/.test(text))
  await listed()
  statements.length = 0
  await listed()
  assert.deepEqual(ofTree(), [])
  await other.query('update organizations set name = name where id = $1', [tree.organizationId])
  await listed()
  assert.ok(ofTree().length > 0)
})

/** A counter in the organization's name: how new what somebody sees is. */
async function setName(number: number): Promise<void> {
  await other.query('update organizations set name = $1 where id = $2', [
    `Name ${number}`,
    tree.organizationId,
  ])
}

const numberIn = (name: string) => Number(name.replace('Name ', ''))

test('in any order of changes, starts and loads, no request sees a state older than its start', async () => {
  type Step = { kind: 'change' } | { kind: 'begin' | 'load' | 'load unawaited'; reader: number }
  const readers = 3
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.constant<Step>({ kind: 'change' }),
    fc.record({
      kind: fc.constantFrom('begin' as const, 'load' as const, 'load unawaited' as const),
      reader: fc.integer({ min: 0, max: readers - 1 }),
    }),
  )
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const cache = createTree(db)
      await setName(++number)
      const begin = async () => {
        const { version } = await db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
        return { snapshot: cache.at(version), atLeast: number }
      }
      type Reader = Awaited<ReturnType<typeof begin>>
      const begun: Reader[] = []
      for (let reader = 0; reader < readers; reader++) begun.push(await begin())
      const load = async ({ snapshot, atLeast }: Reader) => {
        const environments = await snapshot.environments([tree.environmentId])
        const seen = numberIn(environments.get(tree.environmentId)!.project.organization.name)
        assert.ok(seen >= atLeast, `saw ${seen}, although ${atLeast} stood before`)
      }
      const unawaited: Promise<void>[] = []
      for (const one of steps) {
        if (one.kind === 'change') await setName(++number)
        else if (one.kind === 'begin') begun[one.reader] = await begin()
        else if (one.kind === 'load') await load(begun[one.reader]!)
        else unawaited.push(load(begun[one.reader]!))
      }
      await Promise.all(unawaited)
      await load(await begin())
    }),
    { numRuns: 30 },
  )
})

test('requests during changes see at least the last change before they started, and the next request sees the last one', async () => {
  const from = 1_000_000
  await setName(from)
  let committed = from
  const changes = (async () => {
    for (let number = from + 1; number <= from + 25; number++) {
      await setName(number)
      committed = number
    }
  })()
  const reading = Array.from({ length: 4 }, async () => {
    while (committed < from + 25) {
      const atLeast = committed
      const seen = numberIn((await listed()).organization.name)
      assert.ok(seen >= atLeast, `saw ${seen}, although ${atLeast} stood before`)
    }
  })
  await Promise.all([changes, ...reading])
  assert.equal(numberIn((await listed()).organization.name), from + 25)
})

test('every change raises the version, and concurrent changes raise it one by one', async () => {
  const version = async () =>
    (await db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()).version
  const before = await version()
  await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      db
        .updateTable('projects')
        .set({ logo_url: `https://example.com/${index}` })
        .where('id', '=', tree.projectId)
        .execute(),
    ),
  )
  assert.equal(await version(), before + 8)
})
