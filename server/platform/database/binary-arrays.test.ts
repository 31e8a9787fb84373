import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from '#test/support/database.ts'
import { byteas, int4s, int8s, jsonbs, jsons, texts, uuids } from './binary-arrays.ts'

const UUID = '01928374-0000-7000-8000-0123456789ab'

async function connect(t: TestContext): Promise<pg.Client> {
  const database = await createTestDatabase({ empty: true })
  const client = new pg.Client(database.settings)
  await client.connect()
  t.after(async () => {
    await client.end()
    await database.drop()
  })
  return client
}

test('every type of column is preserved, including nulls', async (t) => {
  const client = await connect(t)
  const { rows } = await client.query(
    `select * from unnest($1::int[], $2::bigint[], $3::uuid[], $4::text[], $5::bytea[], $6::json[], $7::jsonb[])
      as c (small, large, id, words, bytes, json, jsonb)`,
    [
      int4s([-1, null]),
      int8s([2 ** 53 - 1, null]),
      uuids([UUID, null]),
      texts(['héllo "quoted" {a,b} \\', null]),
      byteas([Buffer.of(0, 255), null]),
      jsons([{ a: [1, '\u{1F600}'] }, null]),
      jsonbs([{ b: null }, null]),
    ],
  )
  assert.deepEqual(rows, [
    {
      small: -1,
      large: String(2 ** 53 - 1),
      id: UUID,
      words: 'héllo "quoted" {a,b} \\',
      bytes: Buffer.of(0, 255),
      json: { a: [1, '\u{1F600}'] },
      jsonb: { b: null },
    },
    { small: null, large: null, id: null, words: null, bytes: null, json: null, jsonb: null },
  ])
})

test('no rows stay no rows', async (t) => {
  const client = await connect(t)
  const { rows } = await client.query('select * from unnest($1::int[], $2::text[]) as c (a, b)', [
    int4s([]),
    texts([]),
  ])
  assert.deepEqual(rows, [])
})
