import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { createTestDatabase } from '#test/support/database.ts'
import { Chunks } from './chunks.ts'
import { Client } from './client.ts'

suite('a parameter in several buffers', () => {
  let client: Client
  let close = async () => {}

  before(async () => {
    const { settings, drop } = await createTestDatabase()
    client = new Client(settings)
    await client.connect()
    close = async () => {
      await client.end()
      await drop()
    }
  })
  after(() => close())

  test('arrives as one, whatever its size, beside other parameters', async () => {
    for (const sizes of [[], [0], [1], [7_000, 0, 3], Array(128).fill(70_000)]) {
      const chunks = sizes.map((size) => randomBytes(size))
      const text = 'select $1::text as first, $2::bytea as bytes'
      const { rows } = await client.query(text, ['beside', new Chunks(chunks)])
      assert.equal(rows[0].first, 'beside')
      assert.ok(rows[0].bytes.equals(Buffer.concat(chunks)), `${sizes.length} chunks`)
    }
  })

  test('leaves the connection as it was', async () => {
    await assert.rejects(client.query('select 1 / length($1::bytea)', [new Chunks([])]), { code: '22012' })
    const { rows } = await client.query('select $1::int as value', [7])
    assert.deepEqual(rows, [{ value: 7 }])
  })

  test('is rejected where it is not the last one', async () => {
    const chunks = new Chunks([randomBytes(3)])
    await assert.rejects(
      client.query('select $1::bytea, $2::int', [chunks, 7]),
      /have to be the last parameter/,
    )
    const { rows } = await client.query('select $1::int as value', [7])
    assert.deepEqual(rows, [{ value: 7 }])
  })
})
