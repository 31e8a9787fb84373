import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrap } from '#cli/screen.ts'
import { cut, fit, pad, widthOf } from '#cli/table.ts'
import { duration } from '#cli/times.ts'

test('a table that is too wide first shrinks its widest column, then drops its last', () => {
  assert.deepEqual(fit([3, 9, 40], 100), [3, 9, 40])
  assert.deepEqual(fit([3, 9, 40], 40), [3, 9, 24])
  assert.deepEqual(fit([3, 9, 40, 14, 13], 40), [3, 9, 24])
  assert.deepEqual(fit([50], 40), [40])
})

test('of a path the end is kept, of other text the beginning', () => {
  assert.equal(cut('shop/production/web', 12), '…duction/web')
  assert.equal(cut('Cancelled by somebody', 12), 'Cancelled b…')
  assert.equal(cut('web', 12), 'web')
})

test('wide characters take two cells, marks none of their own', () => {
  assert.equal(widthOf('発売'), 4)
  assert.equal(widthOf('e\u0301'), 1)
  assert.equal(cut('発売発売', 5), '発売…')
  assert.equal(pad('発', 4), '発  ')
})

test('sentences break between words on a terminal, under where their text begins; URLs stay in one piece', () => {
  assert.equal(wrap('a short line', 40), 'a short line')
  assert.equal(wrap('one two three four five six', 20), 'one two three four\nfive six')
  assert.equal(wrap('  1. Open the repository first', 20), '  1. Open the\n     repository\n     first')
  assert.equal(
    wrap('\u001b[32m✓\u001b[0m disk: there is enough of it', 20),
    '\u001b[32m✓\u001b[0m disk: there is\n  enough of it',
  )
  const url = 'https://gantry.example.com/hooks/abc'
  assert.equal(wrap(`Open ${url} now`, 20), `Open\n${url}\nnow`)
  assert.equal(wrap('first\n  second line of the text', 20), 'first\n  second line of the\n  text')
})

test('what took less than a second is shown in milliseconds', () => {
  assert.deepEqual([0, 0.0312, 0.25, 1, 61.4].map(duration), ['0 s', '31 ms', '250 ms', '1 s', '1 min 1 s'])
})
