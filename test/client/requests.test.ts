// Calls, errors, lists and retries against the service, and through a load balancer that rejects some requests.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createGantry, GantryError, UnreachableError } from '#client/index.ts'
import { openTestApp } from '#test/support/harness.ts'
import { listen } from '#test/support/streams.ts'
import { createManyActions, createTestTree } from '#test/support/world.ts'
import { openBusyFront, type Rejection } from './busy-front.ts'
import { openProxy } from './proxy.ts'

const service = await openTestApp({ after })
const tree = await createTestTree(service.db)
const { token } = tree.owner
const url = await listen(service)
const front = await openBusyFront({ after }, url)
const gantry = createGantry({ url: front.url, token })

const BUSY: Rejection = { status: 503, headers: { 'retry-after': '0' } }
const LIMITED: Rejection = { status: 429, headers: { 'retry-after': '0' } }
const FROM = new Date('2026-11-01T00:00:00Z')
const createProject = (name: string, client = gantry) =>
  client.post('/organizations/{id}/projects', {
    params: { path: { id: tree.organizationId } },
    body: { name },
  })
const exportProject = (project: string) =>
  gantry.get('/organizations/{id}/export', {
    params: { path: { id: tree.organizationId }, query: { project } },
  })
const projectNames = async () => {
  const list = createGantry({ url, token }).list('/organizations/{id}/projects', {
    params: { path: { id: tree.organizationId } },
  })
  const names: string[] = []
  for await (const { name } of list) names.push(name)
  return names
}

suite('a request', () => {
  test('returns the data of its response: JSON, text, or null when there is none', async () => {
    const { name, id } = await createProject('Data')
    assert.equal(name, 'Data')
    assert.match(await exportProject('Data'), /Data/)
    assert.equal(await gantry.delete('/projects/{id}', { params: { path: { id } } }), null)
  })

  test('throws the error of the service with everything it says', async () => {
    await assert.rejects(createProject(''), (error) => {
      assert.ok(error instanceof GantryError && error instanceof Error)
      const { status, code, errors, requestId, retryAfterSeconds, message } = error
      assert.deepEqual(
        [status, code, Object.keys(errors), retryAfterSeconds],
        [422, 'invalid', ['name'], null],
      )
      assert.match(requestId ?? '', /\w/)
      assert.notEqual(message, '')
      return true
    })
    const nobody = createGantry({ url: `${front.url}/`, token: 'gty_wrong' })
    await assert.rejects(nobody.get('/users/me'), { name: 'GantryError', status: 401 })
  })

  test('throws an error of its own kind when something else responds', async () => {
    const headers = { 'content-type': 'text/html', 'x-request-id': 'p-1' }
    for (const body of ['<h1>Bad gateway</h1>', 'null', '']) {
      front.reject({ status: 502, headers, body })
      await assert.rejects(gantry.get('/users/me'), { code: 'unknown', status: 502, requestId: 'p-1' })
    }
  })

  test('whose response is cut off throws that the service is unreachable', async (t) => {
    const proxy = await openProxy(t, url)
    proxy.cutAfter(900)
    const remote = createGantry({ url: proxy.url, token })
    await assert.rejects(remote.get('/openapi.json'), UnreachableError)
  })
})

test('a list is read page after page, as far as it is consumed', async () => {
  await createManyActions(service.db, tree, 230, FROM)
  front.reject()
  const ids = new Set<number>()
  for await (const { id } of gantry.list('/actions')) ids.add(id)
  assert.deepEqual([ids.size, front.requests()], [230, 3])
  front.reject()
  for await (const _ of gantry.list('/actions', { params: { query: { per_page: 10 } } })) break
  assert.equal(front.requests(), 1)
})

suite('a request is repeated', () => {
  test('after 429 and 503, also if it changes something', async () => {
    front.reject(BUSY, LIMITED, BUSY)
    await createProject('Repeated')
    assert.equal(front.requests(), 4)
    assert.equal((await projectNames()).filter((name) => name === 'Repeated').length, 1)
  })

  test('after a lost connection, if it reads', async () => {
    front.reject({ reset: true }, { reset: true })
    assert.equal((await gantry.get('/users/me')).email, tree.owner.email)
    assert.equal(front.requests(), 3)
  })

  test('if it opens a stream', async () => {
    const [{ id } = { id: 0 }] = await gantry.get('/actions')
    front.reject(BUSY, { reset: true })
    const types: string[] = []
    for await (const { type } of gantry.followAction(id)) types.push(type)
    assert.equal(types.at(-1), 'end')
    assert.equal(front.requests(), 3)
  })

  test('as often as `retries` says, then the last response counts', async () => {
    const client = createGantry({ url: front.url, token, retries: 1 })
    front.reject(BUSY, { ...BUSY, status: 429 }, BUSY)
    await assert.rejects(client.get('/users/me'), { status: 429 })
    assert.equal(front.requests(), 2)
  })
})

suite('a request is not repeated', () => {
  test('after a lost connection, if it changes something: it may have been accepted', async () => {
    front.reject({ reset: true, forwarding: true })
    await assert.rejects(createProject('Lost'), UnreachableError)
    assert.equal(front.requests(), 1)
    assert.ok((await projectNames()).includes('Lost'))
  })

  test('after a 503 that does not say that nothing was accepted, if it changes something', async () => {
    for (const rejection of [{ status: 503 }, { ...BUSY, body: '{"code":"outcome_unknown"}' }]) {
      front.reject(rejection)
      await assert.rejects(createProject('Unknown'), { status: 503 })
      assert.equal(front.requests(), 1)
    }
  })

  test('after other errors', async () => {
    front.reject({ status: 500, headers: { 'retry-after': '0' } })
    await assert.rejects(gantry.get('/users/me'), { status: 500 })
    assert.equal(front.requests(), 1)
  })

  test('when it would have to wait for longer than it may', async () => {
    front.reject({ status: 429, headers: { 'retry-after': '61' } })
    await assert.rejects(gantry.get('/users/me'), { status: 429, retryAfterSeconds: 61 })
    const impatient = createGantry({ url: front.url, token, maxRetryWaitMs: 500 })
    front.reject({ status: 503, headers: { 'retry-after': '1' } })
    await assert.rejects(impatient.get('/users/me'), { status: 503 })
  })

  test('once it is aborted, which ends a wait at once', async () => {
    const waiting: Rejection = { status: 503, headers: { 'retry-after': '30' } }
    front.reject(waiting)
    const began = performance.now()
    await assert.rejects(gantry.get('/users/me', { signal: AbortSignal.timeout(200) }), {
      name: 'TimeoutError',
    })
    assert.ok(performance.now() - began < 10_000)
    assert.equal(front.requests(), 1)
  })
})
