import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { testServer } from '#test/support/database.ts'
import { setSession } from './session.ts'

test('a session reports errors in English, where its role may choose the language', async (t) => {
  const client = new pg.Client({ ...testServer(), database: 'postgres' })
  await client.connect()
  const role = `speaker_${randomBytes(4).toString('hex')}`
  await client.query(`create role ${role}`)
  t.after(async () => {
    await client.query(`reset role; drop owned by ${role}; drop role ${role}`)
    await client.end()
  })
  /** The binaries of the tests have no translations: only the setting shows. */
  const language = async () => {
    await client.query(`reset role; set lc_messages = 'C.UTF-8'; set role ${role}`)
    await client.query(setSession({}))
    return (await client.query('show lc_messages')).rows[0].lc_messages
  }
  assert.equal(await language(), 'C.UTF-8')
  await client.query(`reset role; grant set on parameter lc_messages to ${role}`)
  assert.equal(await language(), 'C')
})
