import assert from 'node:assert/strict'
import { test } from 'node:test'

// A script of the page: it has its types for the browser, not for the server.
const { searchGuides, excerptOf } = await import(new URL('./browser/guide-search.js', import.meta.url).href)

const SECTIONS = [
  ['Runs', 'Runs', 'A run may wait for a server. Rolling back is another page.'],
  ['Releases', 'Rolling back', 'Choose a release and confirm.'],
  [
    'Releases',
    'Health checks',
    'After activation, rolling or not, Gantry asks a URL. Health is what it answers.',
  ],
  ['Operations', 'Health checks', 'Probes for Gantry itself.'],
].map(([page, heading, text], index) => ({ page, heading, text, url: `/${index}` }))

const find = (query: string) => searchGuides(SECTIONS, query).map(({ url }: { url: string }) => url)

test('a heading counts more than the page, and the page more than the text', () => {
  assert.deepEqual(find('rolling'), ['/1', '/0', '/2'])
  assert.deepEqual(find('health checks'), ['/2', '/3'])
  assert.deepEqual(find('operations health'), ['/3'])
  assert.deepEqual(find('ROLLING BACK'), ['/1', '/0'])
})

test('every word has to occur; spaces alone find nothing', () => {
  assert.deepEqual(find('rolling gantry nothing'), [])
  assert.deepEqual(find('   '), [])
})

test('an excerpt begins shortly before the first word that was found', () => {
  const text = `${'many words '.repeat(20)}needle ${'and more '.repeat(30)}`
  const excerpt: string = excerptOf(text, 'needle')
  assert.match(excerpt, /^…\w+ .*needle and .*…$/)
  assert.ok(excerpt.length < 160)
  assert.equal(excerptOf('Short.', 'elsewhere'), 'Short.')
})
