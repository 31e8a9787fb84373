import assert from 'node:assert/strict'
import { test } from 'node:test'

// A script of the page: it has its types for the browser, not for the server.
const { search } = await import(new URL('./browser/search.js', import.meta.url).href)

const ENTRIES = [
  ['listHooks', 'GET', 'List the hooks of a pipeline', '/pipelines/{id}/hooks', 'All of them.'],
  ['rotateSecret', 'POST', 'Rotate the secret', '/hooks/{hook_id}/rotate-secret', 'The old one stays valid.'],
  ['readAction', 'GET', 'Read an action', '/actions/{action_id}', 'With its targets and the secret names.'],
  ['schema-Hook', '', 'Hook', '', 'Starts runs.'],
].map(([id, method, title, path, description]) => ({ id, method, title, path, description }))

const find = (query: string) => search(ENTRIES, query).map(({ id }: { id: string }) => id)

test('a search looks at titles, paths, operation ids and descriptions, in that order of weight', () => {
  assert.deepEqual(find('secret'), ['rotateSecret', 'readAction'])
  assert.deepEqual(find('hook_id'), ['rotateSecret'])
  assert.deepEqual(find('readaction'), ['readAction'])
  assert.deepEqual(find('TARGETS'), ['readAction'])
  assert.equal(find('/actions/{action_id}')[0], 'readAction')
})

test('every word has to occur; spaces alone find nothing', () => {
  assert.deepEqual(find('rotate hook'), ['rotateSecret'])
  assert.deepEqual(find('get hooks'), ['listHooks'])
  assert.deepEqual(find('rotate nothing'), [])
  assert.deepEqual(find('  '), [])
})
