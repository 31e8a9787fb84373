import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Answer, openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createManyActions,
  createPerson,
  createTestTree,
} from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const LONG_AGO = new Date('2026-01-01T00:00:00Z')

/** The relations of a Link header, each with its address as far as it follows our base address. */
function linksOf({ headers }: Answer): Record<string, string> {
  const links = (headers.link ?? '').split(', ').map((link) => {
    const [, url, relation] = /^<([^>]*)>; rel="([a-z]+)"$/.exec(link) ?? []
    assert.ok(url, link)
    assert.ok(url.startsWith(TEST_BASE_URL), link)
    return [relation, url.slice(TEST_BASE_URL.length)]
  })
  return Object.fromEntries(links)
}

const idsOf = ({ body }: Answer): number[] => body.map((one: { id: number }) => one.id)

const tree = await createTestTree(db)
await createManyActions(db, tree, 60, LONG_AGO)
const { token } = tree.owner
const page = (query: string) => request('GET', `/actions${query}`, { token })

test('a page has 25 actions by default, newest first', async () => {
  const answer = await page('')
  const ids = idsOf(answer)
  assert.equal(ids.length, 25)
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  )
  assert.equal(answer.headers['x-total-count'], '60')
  assert.deepEqual(linksOf(answer), {
    first: '/actions?page=1',
    next: '/actions?page=2',
    last: '/actions?page=3',
  })
})

test('pages have no gaps or repetitions, and the last one may be short', async () => {
  const pages = await Promise.all([1, 2, 3].map((number) => page(`?page=${number}`)))
  const ids = pages.flatMap(idsOf)
  assert.deepEqual(
    pages.map((one) => one.body.length),
    [25, 25, 10],
  )
  assert.equal(new Set(ids).size, 60)
  assert.deepEqual(linksOf(pages[1]!), {
    first: '/actions?page=1',
    prev: '/actions?page=1',
    next: '/actions?page=3',
    last: '/actions?page=3',
  })
  assert.deepEqual(linksOf(pages[2]!), {
    first: '/actions?page=1',
    prev: '/actions?page=2',
    last: '/actions?page=3',
  })
})

test('following next from the first page visits every action once', async () => {
  const seen: number[] = []
  for (let url: string | undefined = '/actions?per_page=7'; url; ) {
    const answer: Answer = await request('GET', url, { token })
    seen.push(...idsOf(answer))
    url = linksOf(answer).next
  }
  assert.equal(seen.length, 60)
  assert.equal(new Set(seen).size, 60)
})

test('per_page goes from 1 to 100, and every link keeps the query', async () => {
  const one = await page('?per_page=1&page=2&filter[status]=completed&filter[type]=deploy,restart')
  assert.equal(one.body.length, 1)
  for (const [relation, number] of Object.entries({ first: 1, prev: 1, next: 3, last: 60 })) {
    const url = new URL(linksOf(one)[relation]!, TEST_BASE_URL)
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      per_page: '1',
      page: String(number),
      'filter[status]': 'completed',
      'filter[type]': 'deploy,restart',
    })
  }
  const all = await page('?per_page=100')
  assert.equal(all.body.length, 60)
  assert.deepEqual(Object.keys(linksOf(all)), ['first', 'last'])
})

test('a page that is exactly full has no next', async () => {
  assert.deepEqual(linksOf(await page('?per_page=60')), {
    first: '/actions?per_page=60&page=1',
    last: '/actions?per_page=60&page=1',
  })
  const last = linksOf(await page('?per_page=20&page=3'))
  assert.equal(last.next, undefined)
})

test('a page past the end is an empty array with links back', async () => {
  for (const number of [4, 5, 1_000_000_000, 10n ** 10n, 10n ** 30n, 10n ** 400n]) {
    const answer = await page(`?page=${number}`)
    assert.deepEqual([answer.status, answer.body], [200, []])
    assert.equal(answer.headers['x-total-count'], '60')
    assert.deepEqual(linksOf(answer), {
      first: '/actions?page=1',
      prev: '/actions?page=3',
      last: '/actions?page=3',
    })
  }
})

test('without any action the first page is the only one', async () => {
  const nobody = await createPerson(db)
  const answer = await request('GET', '/actions', { token: nobody.token })
  assert.deepEqual(linksOf(answer), { first: '/actions?page=1', last: '/actions?page=1' })
  assert.equal(answer.headers['x-total-count'], '0')
})

test('pages and sizes out of bounds are rejected by name', async () => {
  for (const [query, field] of [
    ['?page=0', 'page'],
    ['?page=-1', 'page'],
    ['?page=1.5', 'page'],
    ['?page=x', 'page'],
    ['?page=', 'page'],
    ['?page=1&page=2', 'page'],
    ['?per_page=0', 'per_page'],
    ['?per_page=101', 'per_page'],
    ['?per_page=many', 'per_page'],
  ] as const) {
    const { status, body } = await page(query)
    assert.equal(status, 422, query)
    assert.deepEqual(Object.keys(body.errors), [field], query)
  }
})

test('totals are exact up to 10,000; beyond, they are 10000+ and there is no last page', async () => {
  const many = await createTestTree(db)
  const other = await addEnvironment(db, many.owner.id, many.projectId, many.credentialId)
  await createManyActions(db, many, 6_000, LONG_AGO)
  await createManyActions(db, other, 4_000, LONG_AGO)
  const read = (query: string) => request('GET', `/actions${query}`, { token: many.owner.token })

  const exact = await read('?per_page=1')
  assert.equal(exact.headers['x-total-count'], '10000')
  assert.equal(linksOf(exact).last, '/actions?per_page=1&page=10000')

  await createAction(db, { ...many, serverIds: [] })
  const beyond = await read('?per_page=1')
  assert.equal(beyond.headers['x-total-count'], '10000+')
  assert.deepEqual(Object.keys(linksOf(beyond)), ['first', 'next'])

  const middle = await read('?per_page=100&page=50')
  assert.equal(middle.headers['x-total-count'], '10000+')
  assert.deepEqual(Object.keys(linksOf(middle)), ['first', 'prev', 'next'])

  const end = await read('?per_page=100&page=101')
  assert.equal(end.body.length, 1)
  assert.deepEqual(Object.keys(linksOf(end)), ['first', 'prev'])

  const past = await read('?per_page=100&page=102')
  assert.deepEqual(past.body, [])

  const filtered = await read(`?per_page=1&filter[environment_id]=${other.environmentId}`)
  assert.equal(filtered.headers['x-total-count'], '4000', 'a filter counts what it lists')
})
