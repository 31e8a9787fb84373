import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillText } from './fill-values.ts'

const values = { NAME: 'Shop', NESTED: `\${NAME}`, EMPTY: '' }

test('a name in braces is what the values say, as often as it stands there', () => {
  assert.deepEqual(fillText(`\${NAME}, \${NAME}\${EMPTY}`, values), {
    kind: 'filled',
    text: 'Shop, Shop',
    used: ['NAME', 'NAME', 'EMPTY'],
  })
})

test('what is filled in is not looked at again, and special characters mean nothing', () => {
  assert.deepEqual(fillText(`\${NESTED}`, values), { kind: 'filled', text: `\${NAME}`, used: ['NESTED'] })
  const odd = fillText(`\${ODD}`, { ODD: "$& $1 $' $$" })
  assert.deepEqual(odd, { kind: 'filled', text: "$& $1 $' $$", used: ['ODD'] })
})

test('two dollars make the braces mean themselves', () => {
  assert.deepEqual(fillText(`$\${NAME} costs $5`, values), { kind: 'plain', text: `\${NAME} costs $5` })
  assert.deepEqual(fillText('$HOME $(pwd) {{ x }}', values), { kind: 'plain', text: '$HOME $(pwd) {{ x }}' })
})

test('a name that has no value, or is none, is told; those that every object has are no values', () => {
  for (const text of [`\${OTHER}`, `\${constructor}`, `\${NAME`, `\${NAME:-x}`, `\${}`, `\${1}`])
    assert.equal(fillText(text, values).kind, 'faulty', text)
})
