import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTerminal } from './terminal.ts'

const bash = (script: string) => ['bash', '--norc', '-c', script]

test('a program on the terminal sees its size, reads what is typed and ends with its code', async (t) => {
  const terminal = await openTerminal(t, bash('stty size; read -p "Name? " name; echo "Hi $name"; exit 7'), {
    columns: 40,
    rows: 10,
  })
  await terminal.sees('Name?')
  terminal.type('Ada')
  terminal.press('enter')
  assert.equal(await terminal.ended, 7)
  assert.equal(terminal.history(), '10 40\nName? Ada\nHi Ada')
})

test('resizing and Ctrl-C reach the program; what it has redrawn is gone', async (t) => {
  const script = `trap 'stty size' WINCH; trap 'printf "\\rbye  \\n"; exit 130' INT; printf 'ready'; while :; do sleep 0.05; done`
  const terminal = await openTerminal(t, bash(script))
  await terminal.sees('ready')
  await terminal.resize(50, 12)
  await terminal.sees('12 50')
  terminal.press('ctrl-c')
  assert.equal(await terminal.ended, 130)
  assert.match(terminal.shown(), /bye$/)
})
