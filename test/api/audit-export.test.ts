// Exporting the audit log: complete, in commit order, at the speed of the client, and only while the caller has access.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { openTestApp } from '#test/support/harness.ts'
import { listen } from '#test/support/streams.ts'
import { until } from '#test/support/until.ts'
import {
  createAccessToken,
  createMember,
  createPerson,
  createTestTree,
  type TestTree,
} from '#test/support/world.ts'

const api = await openTestApp({ after })
const { app, db, request, statements } = api
const host = await listen(api)
const admin = await createPerson(db, { admin: true })

type Entry = { id: number; organization_id: number | null; subject_name: string; verb: string }

const nobody = { userId: null, ipAddress: null, requestId: null }

async function record(
  trx: Transaction,
  organizationId: number | null,
  name: string,
  after = {},
): Promise<void> {
  const subject = { type: 'project', id: 1, name }
  await recordAudit(trx, nobody, { organizationId, verb: 'changed', subject, before: null, after })
}

const recordNow = (organizationId: number | null, name: string) =>
  db.transaction().execute((trx) => record(trx, organizationId, name))

async function exported(url: string, token: string, query = ''): Promise<Entry[]> {
  const { status, headers, text } = await request('GET', `${url}/export?${query}`, { token })
  assert.equal(status, 200, text)
  assert.equal(headers['content-type'], 'application/x-ndjson')
  if (text !== '') assert.ok(text.endsWith('\n'))
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

const urlOf = ({ organizationId }: TestTree) => `/organizations/${organizationId}/audit`
const namesOf = (entries: Entry[]) => entries.map((entry) => entry.subject_name)

suite('an export', () => {
  test('has the entries of the list, oldest first', async () => {
    const tree = await createTestTree(db)
    for (let index = 1; index <= 450; index++) await recordNow(tree.organizationId, `Change ${index}`)
    const { token } = tree.owner
    const entries = await exported(urlOf(tree), token)
    assert.deepEqual(
      namesOf(entries),
      Array.from({ length: 450 }, (_, index) => `Change ${index + 1}`),
    )
    const { body } = await request('GET', `${urlOf(tree)}?per_page=100`, { token })
    assert.deepEqual(entries.slice(-100).reverse(), body)
  })

  test('continues after an entry, and is empty after the last one', async () => {
    const tree = await createTestTree(db)
    for (const name of ['One', 'Two', 'Three']) await recordNow(tree.organizationId, name)
    const { token } = tree.owner
    const [first, , last] = await exported(urlOf(tree), token)
    assert.deepEqual(namesOf(await exported(urlOf(tree), token, `after=${first!.id}`)), ['Two', 'Three'])
    assert.deepEqual(await exported(urlOf(tree), token, `after=${last!.id}`), [])
  })

  test('after an entry that does not exist, or belongs to another organization, is 422', async () => {
    const [tree, other] = [await createTestTree(db), await createTestTree(db)]
    await recordNow(other.organizationId, 'Elsewhere')
    const [foreign] = await exported(urlOf(other), other.owner.token)
    for (const after of [foreign!.id, 999_999_999, 0, -1, 'x', '1.5', 2 ** 60]) {
      const url = `${urlOf(tree)}/export?after=${after}`
      const { status, body } = await request('GET', url, { token: tree.owner.token })
      assert.deepEqual([status, Object.keys(body.errors)], [422, ['after']], String(after))
    }
  })

  test('takes the filters of the list', async () => {
    const tree = await createTestTree(db)
    await recordNow(tree.organizationId, 'Nobody')
    await request('POST', `/organizations/${tree.organizationId}/projects`, {
      token: tree.owner.token,
      body: { name: 'Made' },
    })
    const { token } = tree.owner
    const filtered = async (query: string) => namesOf(await exported(urlOf(tree), token, query))
    assert.deepEqual(await filtered('filter[verb]=created'), ['Made'])
    assert.deepEqual(await filtered(`filter[user_id]=${tree.owner.id}`), ['Made'])
    assert.deepEqual(await filtered('filter[created_before]=2020-01-01T00:00:00Z'), [])
    const wrong = await request('GET', `${urlOf(tree)}/export?filter[color]=red`, { token })
    assert.equal(wrong.status, 422)
  })

  test('of an organization is for users who may edit it, of everything for instance administrators', async () => {
    const tree = await createTestTree(db)
    const developer = await createMember(db, tree, 'developer')
    assert.equal((await request('GET', `${urlOf(tree)}/export`, { token: developer.token })).status, 403)
    assert.equal((await request('GET', `${urlOf(tree)}/export`, { token: admin.token })).status, 404)
    for (const url of ['/audit', '/audit/export'])
      assert.equal((await request('GET', url, { token: tree.owner.token })).status, 403)
  })

  test('answers HEAD without reading a single page', async () => {
    statements.length = 0
    const { status, text } = await request('HEAD', '/audit/export', { token: admin.token })
    assert.deepEqual([status, text], [200, ''])
    assert.deepEqual(pagesRead(), [])
  })
})

suite('the audit log of the installation', () => {
  test('shows changes of accounts, and those of all organizations', async () => {
    const tree = await createTestTree(db)
    await recordNow(tree.organizationId, 'Of an organization')
    const { token } = tree.owner
    const made = await request('POST', '/users/personal-access-tokens', {
      token,
      body: { name: 'Of an account' },
    })
    const { body } = await request('GET', '/audit?per_page=2', { token: admin.token })
    assert.deepEqual(
      body.map((entry: Entry) => [entry.subject_name, entry.organization_id]),
      [
        ['Of an account', null],
        ['Of an organization', tree.organizationId],
      ],
    )
    const since = `filter[subject_type]=personal_access_token&filter[user_id]=${tree.owner.id}`
    const [entry] = await exported('/audit', admin.token, since)
    assert.deepEqual(entry, body[0])
    assert.ok(!JSON.stringify(entry).includes(made.body.token))
    assert.deepEqual(namesOf(await exported(urlOf(tree), token)), ['Of an organization'])
  })
})

suite('commit order', () => {
  test('an entry that is committed later comes later, although its id is smaller', async () => {
    const tree = await createTestTree(db)
    const { token } = tree.owner
    const slow = await db.startTransaction().execute()
    await record(slow, tree.organizationId, 'Slow')
    await recordNow(tree.organizationId, 'Fast')
    const [fast, ...others] = await exported(urlOf(tree), token)
    assert.deepEqual([fast!.subject_name, others], ['Fast', []])
    await slow.commit().execute()
    const [later] = await exported(urlOf(tree), token, `after=${fast!.id}`)
    assert.equal(later!.subject_name, 'Slow')
    assert.ok(later!.id < fast!.id)
    assert.deepEqual(namesOf(await exported(urlOf(tree), token)), ['Fast', 'Slow'])
    assert.deepEqual(namesOf(await exported('/audit', admin.token, `after=${fast!.id}`)), ['Slow'])
  })

  test('a reader that keeps asking for what came after gets every entry once', async () => {
    const tree = await createTestTree(db)
    const write = async (writer: number) => {
      for (let round = 0; round < 25; round++) {
        const trx = await db.startTransaction().execute()
        await record(trx, tree.organizationId, `${writer}.${round}.0`)
        // Some transactions take longer than others, and some come to nothing.
        for (let turn = 0; turn < (writer * round) % 5; turn++) await sql`select 1`.execute(trx)
        await record(trx, tree.organizationId, `${writer}.${round}.1`)
        await (round % 6 === 5 ? trx.rollback() : trx.commit()).execute()
      }
    }
    const seen: string[] = []
    let after = ''
    const read = async () => {
      const entries = await exported(urlOf(tree), tree.owner.token, after)
      seen.push(...namesOf(entries))
      if (entries.length > 0) after = `after=${entries.at(-1)!.id}`
    }
    let isWriting = true
    const writing = Promise.all([1, 2, 3, 4, 5].map(write)).finally(() => {
      isWriting = false
    })
    while (isWriting) await read()
    await writing
    await read()
    assert.equal(seen.length, 5 * (25 - 4) * 2)
    assert.equal(new Set(seen).size, seen.length)
    assert.deepEqual(seen, namesOf(await exported(urlOf(tree), tree.owner.token)))
  })

  test('transactions that change the tree before and after their entry do not block each other', async () => {
    const [one, other] = [await createTestTree(db), await createTestTree(db)]
    const rename = (trx: Transaction, { projectId }: TestTree, round: number) =>
      trx
        .updateTable('projects')
        .set({ name: `Round ${round}` })
        .where('id', '=', projectId)
        .execute()
    const treeFirst = (round: number) =>
      db.transaction().execute(async (trx) => {
        await rename(trx, one, round)
        await record(trx, one.organizationId, 'Tree first')
      })
    const entryFirst = (round: number) =>
      db.transaction().execute(async (trx) => {
        await record(trx, other.organizationId, 'Entry first')
        await rename(trx, other, round)
      })
    for (let round = 0; round < 40; round++) await Promise.all([treeFirst(round), entryFirst(round)])
    assert.equal((await exported(urlOf(one), one.owner.token)).length, 40)
    assert.equal((await exported(urlOf(other), other.owner.token)).length, 40)
  })

  test('an entry cannot be moved, not even before it is committed', async () => {
    const refused = /never changed or removed/
    await recordNow(null, 'Fixed')
    await assert.rejects(sql`update audit_entries set position = position + 1000`.execute(db), refused)
    await assert.rejects(sql`update audit_entries set position = null`.execute(db), refused)
    const early = db.transaction().execute(async (trx) => {
      await record(trx, null, 'Early')
      await sql`update audit_entries set position = 1000000 where position is null`.execute(trx)
    })
    await assert.rejects(early, refused)
  })
})

suite('a download', () => {
  /** More than the buffers of a connection hold. */
  const big = createBigLog()

  async function createBigLog(): Promise<TestTree> {
    const tree = await createTestTree(db)
    const text = 'x'.repeat(20_000)
    for (let batch = 0; batch < 10; batch++) {
      await db.transaction().execute(async (trx) => {
        for (let index = 0; index < 100; index++) await record(trx, tree.organizationId, 'Large', { text })
      })
    }
    return tree
  }

  /** A client that has received the head of the response and reads no further. */
  async function startReading(token: string): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${token}` }
    const sent = get(`${host}${urlOf(await big)}/export`, { headers, agent: false })
    sent.on('error', () => {})
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    assert.equal(response.statusCode, 200)
    return response
  }

  /** The rest of the response: how many lines, and whether it was complete. */
  async function readOn(response: IncomingMessage): Promise<{ lines: number; isComplete: boolean }> {
    let lines = 0
    response.on('data', (chunk: Buffer) => {
      lines += chunk.filter((byte) => byte === 10).length
    })
    await new Promise((resolve) => response.on('close', resolve))
    return { lines, isComplete: response.complete }
  }

  const waiting = async () => {
    const count = pagesRead().length
    for (let turn = 0; turn < 20; turn++) await sql`select 1`.execute(db)
    return count > 0 && pagesRead().length === count
  }

  test('is read from the database only as fast as the client reads it, in no transaction', async () => {
    statements.length = 0
    const response = await startReading((await big).owner.token)
    await until('the export waits for its client', 20_000, waiting)
    assert.ok(pagesRead().length < 5, `${pagesRead().length} pages`)
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`.execute(db)
    assert.deepEqual(rows, [])
    assert.deepEqual(await readOn(response), { lines: 1_000, isComplete: true })
  })

  for (const [what, end] of [
    ['the token is revoked', (token: string) => request('POST', '/users/logout', { token })],
    [
      'the caller is removed from the organization',
      async (_: string, userId: number) => db.deleteFrom('grants').where('user_id', '=', userId).execute(),
    ],
  ] as const) {
    test(`is cut off when ${what}`, async () => {
      const member = await createMember(db, await big, 'admin')
      const response = await startReading(member.token)
      await until('the export waits for its client', 20_000, waiting)
      await end(member.token, member.id)
      const { lines, isComplete } = await readOn(response)
      assert.equal(isComplete, false)
      assert.ok(lines < 1_000, String(lines))
    })
  }

  test('stops reading when the client leaves', async () => {
    const response = await startReading(await createAccessToken(db, (await big).owner.id))
    await until('the export waits for its client', 20_000, waiting)
    statements.length = 0
    response.destroy()
    const connections = () =>
      new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)))
    await until('the connection is closed', 20_000, async () => (await connections()) === 0)
    // One page may have been on its way.
    assert.ok(pagesRead().length <= 1, pagesRead().join('\n'))
  })
})

/** The statements that read a page of an export. */
function pagesRead(): string[] {
  return statements.filter(
    (text) => text.includes('from "audit_entries"') && text.includes('order by "position"'),
  )
}
