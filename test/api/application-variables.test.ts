// Variables of applications.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { loadRun } from '#engine/runner/load-run.ts'
import { type Answer, openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { auditOf, createAction, createMember, createTestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)
const viewer = await createMember(db, tree, 'viewer')
const { token } = tree.owner
const send = (method: string, url: string, body?: unknown, more: RequestOptions = {}) =>
  api.request(method, url, { token, body, ...more })
let counter = 0
async function created() {
  const input = { name: `Application ${++counter}`, repository: 'https://github.com/acme/site.git' }
  const { status, body, text } = await send('POST', `/environments/${tree.environmentId}/applications`, input)
  assert.equal(status, 201, text)
  return body
}

suite('a variable', () => {
  test('is stored encrypted, reaches runs, and is shown to callers who may edit it', async () => {
    const address = `/applications/${tree.applicationId}/variables`
    const { status, body, text } = await send('POST', address, { name: 'REGION', value: 'eu-1' })
    assert.equal(status, 201, text)
    assert.equal(body.value, 'eu-1')
    const asViewer = await send('GET', `${address}/${body.id}`, undefined, { token: viewer.token })
    assert.equal(asViewer.body.value, '********')
    const row = await db
      .selectFrom('application_variables')
      .select('value')
      .where('id', '=', body.id)
      .executeTakeFirstOrThrow()
    assert.ok(!row.value.includes('eu-1'))

    const actionId = await createAction(db, tree)
    const target = await db
      .selectFrom('targets')
      .select('id')
      .where('action_id', '=', actionId)
      .executeTakeFirstOrThrow()
    // The tree's credential is not really sealed.
    await db
      .updateTable('applications')
      .set({ credential_id: null })
      .where('id', '=', tree.applicationId)
      .execute()
    const run = await loadRun(db, api.box, target.id)
    assert.ok('application' in run)
    assert.deepEqual(run.application?.variables, [{ name: 'REGION', hidden: false, value: 'eu-1' }])
  })

  test('that is hidden is never shown again, not even by making it visible', async () => {
    const { id } = await created()
    const address = `/applications/${id}/variables`
    const made = await send('POST', address, { name: 'TOKEN', value: 'hush-hush', hidden: true })
    assert.equal(made.body.value, '********')
    const one = `${address}/${made.body.id}`
    assert.equal((await send('GET', one)).body.value, '********')
    const reveal = await send('PUT', one, { hidden: false })
    assert.equal(reveal.status, 422)
    assert.deepEqual(Object.keys(reveal.body.errors), ['value'])
    const replaced = await send('PUT', one, { hidden: false, value: 'other' })
    assert.equal(replaced.body.value, 'other')
    const entries = JSON.stringify(await auditOf(db, 'variable', made.body.id))
    assert.ok(!/hush-hush|other/.test(entries))
  })

  test('that is hidden has at least 6 characters; a shorter one of before stays as long as its value does', async () => {
    const { id } = await created()
    const address = `/applications/${id}/variables`
    const assertTooShort = ({ status, body }: Answer, field: string) => {
      assert.equal(status, 422)
      assert.deepEqual(Object.keys(body.errors), [field])
      assert.match(body.errors[field][0], /at least 6 characters/)
    }
    for (const value of ['', '12345', ' 12345\n', '      ', '\u{1F511}'.repeat(5)])
      assertTooShort(await send('POST', address, { name: 'PIN', value, hidden: true }), 'value')
    const made = await send('POST', address, { name: 'PIN', value: '123456', hidden: true })
    assert.equal(made.status, 201)
    const one = `${address}/${made.body.id}`
    assertTooShort(await send('PUT', one, { value: '12345' }), 'value')
    assert.equal((await send('PUT', one, { value: '12345', hidden: false })).status, 200)
    assertTooShort(await send('PUT', one, { hidden: true }), 'hidden')
    // Stored before the rule.
    await db
      .updateTable('application_variables')
      .set({ hidden: true })
      .where('id', '=', made.body.id)
      .execute()
    assert.equal((await send('PUT', one, { name: 'PIN_2' })).status, 200)
    assert.equal((await send('PUT', one, { hidden: true })).status, 200)
    assertTooShort(await send('PUT', one, { value: '12345' }), 'value')
    assert.equal((await send('PUT', one, { value: 'long enough' })).status, 200)
  })

  test('has a unique, case-insensitive name that is not reserved', async () => {
    const { id } = await created()
    const address = `/applications/${id}/variables`
    const first = await send('POST', address, { name: 'Api_Key', value: '' })
    assert.equal(first.status, 201)
    for (const name of [
      'API_KEY',
      'GANTRY_RELEASE',
      'gantry_x',
      'PATH',
      'LD_PRELOAD',
      'BASH_ENV',
      'a-b',
      '1a',
      '',
    ]) {
      const { status, body } = await send('POST', address, { name, value: 'x' })
      assert.equal(status, 422, name)
      assert.deepEqual(Object.keys(body.errors), ['name'])
    }
    assert.equal((await send('PUT', `${address}/${first.body.id}`, { name: 'API_KEY' })).status, 200)
    for (const value of ['é'.repeat(40_000), 'a\0b'])
      assert.equal((await send('POST', address, { name: 'BIG', value })).status, 422)
  })

  test('is listed, changed under its version, and removed', async () => {
    const { id } = await created()
    const address = `/applications/${id}/variables`
    for (const name of ['ONE', 'TWO', 'TWENTY']) await send('POST', address, { name, value: name })
    const list = await send('GET', `${address}?filter[name]=tw&per_page=1`)
    assert.equal(list.headers['x-total-count'], '2')
    assert.equal(list.body[0].name, 'TWENTY')
    const one = `${address}/${list.body[0].id}`
    const { headers } = await send('GET', one)
    const write = () => send('PUT', one, { value: 'x' }, { headers: { 'if-match': headers.etag! } })
    assert.equal((await write()).status, 200)
    assert.equal((await write()).status, 412)
    assert.equal((await send('DELETE', one)).status, 204)
    assert.equal((await send('GET', one)).status, 404)
    const elsewhere = await created()
    const foreign = `/applications/${elsewhere.id}/variables/${(await send('GET', address)).body[0].id}`
    assert.equal((await send('GET', foreign)).status, 404)
  })
})
