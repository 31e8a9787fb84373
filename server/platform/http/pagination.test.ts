import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COUNT_LIMIT, linkHeader, pageOf } from './pagination.ts'

const URL = 'http://gantry.test/actions'

/** The relations of a Link header: relation → page. */
function relations(header: string): Record<string, number> {
  const found = header.matchAll(/<([^>]+)>; rel="(\w+)"/g)
  return Object.fromEntries(
    [...found].map(([, url, relation]) => [
      relation,
      Number(new globalThis.URL(url!).searchParams.get('page')),
    ]),
  )
}

test('the first page of 25 is the default', () => {
  assert.deepEqual(pageOf({}), { limit: 25, offset: 0 })
})

test('a page begins where the pages before it end', () => {
  assert.deepEqual(pageOf({ page: 3, per_page: 10 }), { limit: 10, offset: 20 })
  assert.deepEqual(pageOf({ page: 1_000_000_000, per_page: 100 }), { limit: 100, offset: 99_999_999_900 })
})

test('a page that is too large to count to begins past the end of every list', () => {
  for (const page of [Number.MAX_SAFE_INTEGER, 1e30, Number.MAX_VALUE]) {
    const { offset } = pageOf({ page, per_page: 100 })
    assert.ok(Number.isSafeInteger(offset) && offset > 1e15, String(page))
  }
})

test('an empty list has one page, which is the first and the last', () => {
  const header = linkHeader(URL, pageOf({}), { total: 0, hasMore: false })
  assert.deepEqual(relations(header), { first: 1, last: 1 })
})

test('a page in the middle has all four relations', () => {
  const header = linkHeader(URL, pageOf({ page: 2, per_page: 10 }), { total: 35, hasMore: true })
  assert.deepEqual(relations(header), { first: 1, prev: 1, next: 3, last: 4 })
})

test('the last page has no next one, also when it is full', () => {
  const header = linkHeader(URL, pageOf({ page: 3, per_page: 10 }), { total: 30, hasMore: false })
  assert.deepEqual(relations(header), { first: 1, prev: 2, last: 3 })
})

test('a page past the end leads back to the last one', () => {
  const header = linkHeader(URL, pageOf({ page: 9, per_page: 10 }), { total: 12, hasMore: false })
  assert.deepEqual(relations(header), { first: 1, prev: 2, last: 2 })
})

test('a list too long to count has no last page', () => {
  const extent = { total: COUNT_LIMIT + 1, hasMore: true }
  assert.deepEqual(relations(linkHeader(URL, pageOf({ page: 500 }), extent)), {
    first: 1,
    prev: 499,
    next: 501,
  })
})

test('a list of exactly the counting limit still has a last page', () => {
  const extent = { total: COUNT_LIMIT, hasMore: true }
  assert.deepEqual(relations(linkHeader(URL, pageOf({ per_page: 100 }), extent)), {
    first: 1,
    next: 2,
    last: 100,
  })
})

test('the rest of the query is preserved', () => {
  const header = linkHeader(
    `${URL}?filter[status]=failed,skipped&page=1&per_page=10&filter[created_after]=2026-01-01T00:00:00%2B02:00`,
    pageOf({ per_page: 10 }),
    { total: 11, hasMore: true },
  )
  const next = new globalThis.URL(/<([^>]+)>; rel="next"/.exec(header)![1]!)
  assert.deepEqual(Object.fromEntries(next.searchParams), {
    'filter[status]': 'failed,skipped',
    page: '2',
    per_page: '10',
    'filter[created_after]': '2026-01-01T00:00:00+02:00',
  })
})
