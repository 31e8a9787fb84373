import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillText } from './convert-nodes.ts'

const values = { NAME: 'Shop', NESTED: `\${NAME}`, EMPTY: '' }

test('a placeholder is replaced by its value, every time it occurs', () => {
  assert.deepEqual(fillText(`\${NAME}, \${NAME}\${EMPTY}`, values), {
    kind: 'filled',
    text: 'Shop, Shop',
    used: ['NAME', 'NAME', 'EMPTY'],
  })
})

test('filled-in text is not expanded again, and special characters have no effect', () => {
  assert.deepEqual(fillText(`\${NESTED}`, values), { kind: 'filled', text: `\${NAME}`, used: ['NESTED'] })
  const odd = fillText(`\${ODD}`, { ODD: "$& $1 $' $$" })
  assert.deepEqual(odd, { kind: 'filled', text: "$& $1 $' $$", used: ['ODD'] })
})

test('two dollar signs escape a placeholder', () => {
  assert.deepEqual(fillText(`$\${NAME} costs $5`, values), { kind: 'plain', text: `\${NAME} costs $5` })
  assert.deepEqual(fillText('$HOME $(pwd) {{ x }}', values), { kind: 'plain', text: '$HOME $(pwd) {{ x }}' })
})

test('a placeholder without a value or without a valid name is invalid, also if every object has that property', () => {
  for (const text of [`\${OTHER}`, `\${constructor}`, `\${NAME`, `\${NAME:-x}`, `\${}`, `\${1}`])
    assert.equal(fillText(text, values).kind, 'invalid', text)
})
