import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDotenv } from '#web/pages/applications/variables/dotenv.ts'
import {
  comparePasted,
  editOf,
  operationsOf,
  rowsOf,
  type Variable,
  withPasted,
} from '#web/pages/applications/variables/variable-edits.ts'

/** As a list of pairs. */
const pairs = (text: string) => parseDotenv(text).entries.map(({ name, value }) => [name, value])
const problems = (text: string) =>
  parseDotenv(text).problems.map(({ line, message }) => `${line}: ${message}`)

describe('a .env file', () => {
  it('has names and values, comments and empty lines', () => {
    assert.deepEqual(pairs('# database\nHOST=db\n\n  PORT = 5432 \nEMPTY=\n'), [
      ['HOST', 'db'],
      ['PORT', '5432'],
      ['EMPTY', ''],
    ])
  })

  it('may begin with a byte order mark and end lines with CRLF', () => {
    assert.deepEqual(pairs('\uFEFFA=1\r\nB="x\r\ny"\r\n'), [
      ['A', '1'],
      ['B', 'x\ny'],
    ])
  })

  it('may export its names', () => {
    assert.deepEqual(pairs('export A=1\nexport\tB=2\nexported=3'), [
      ['A', '1'],
      ['B', '2'],
      ['exported', '3'],
    ])
  })

  it('has comments after values, but not inside of words or quotes', () => {
    assert.deepEqual(pairs('A=1 # one\nB=a#b\nC="a # b" # c\nD=\'# d\'\nE= # nothing\nF=https://x/#top'), [
      ['A', '1'],
      ['B', 'a#b'],
      ['C', 'a # b'],
      ['D', '# d'],
      ['E', ''],
      ['F', 'https://x/#top'],
    ])
  })

  it('has escapes in double quotes only, and never expands names', () => {
    assert.deepEqual(pairs('A="a\\nb \\"c\\" \\\\ \\$HOME \\d"\nB=\'a\\nb\'\nC=`it\'s "it"`\nD=$HOME/x'), [
      ['A', 'a\nb "c" \\ $HOME \\d'],
      ['B', 'a\\nb'],
      ['C', 'it\'s "it"'],
      ['D', '$HOME/x'],
    ])
  })

  it('has values of several lines in quotes', () => {
    const key = '-----BEGIN KEY-----\nabc=\n-----END KEY-----'
    assert.deepEqual(pairs(`KEY="${key}"\nNEXT='a\nb'\nLAST=1`), [
      ['KEY', key],
      ['NEXT', 'a\nb'],
      ['LAST', '1'],
    ])
  })

  it('counts the last of several lines with the same name, and says so', () => {
    assert.deepEqual(pairs('A=1\nB=2\nA=3'), [
      ['B', '2'],
      ['A', '3'],
    ])
    assert.deepEqual(problems('A=1\nB=2\nA=3'), ['3: A occurs again; this one counts, not that of line 1'])
  })

  it('names the lines that it cannot read, and reads the rest', () => {
    const text = 'A=1\njust words\n2B=x\nC="open\nD=4'
    assert.deepEqual(pairs(text), [
      ['A', '1'],
      ['D', '4'],
    ])
    assert.deepEqual(
      problems(text).map((problem) => problem.slice(0, 12)),
      ['2: has no na', '3: 2B is not', '4: C: the qu'],
    )
  })
})

const variable = (id: number, name: string, value: string, hidden = false): Variable => ({
  id,
  name,
  value: hidden ? '********' : value,
  hidden,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
})

describe('edited variables', () => {
  const host = variable(1, 'HOST', 'db')
  const token = variable(2, 'TOKEN', '', true)

  it('send nothing for a hidden value that was not typed', () => {
    assert.deepEqual(operationsOf({ 1: editOf(host), 2: editOf(token) }), [])
    const [change] = operationsOf({ 2: { ...editOf(token), name: 'API_TOKEN' } })
    assert.deepEqual(change, { kind: 'change', key: '2', id: 2, base: token, body: { name: 'API_TOKEN' } })
    const [replaced] = operationsOf({ 2: { ...editOf(token), value: 'new secret' } })
    assert.deepEqual(replaced?.kind === 'change' && replaced.body, { value: 'new secret' })
  })

  it('are removed before others are added, so that a name can be used again', () => {
    const added = { base: null, name: 'HOST ', value: 'other', hidden: false, isRemoved: false }
    const operations = operationsOf({ 'new-1': added, 1: { ...editOf(host), isRemoved: true } })
    assert.deepEqual(
      operations.map(({ kind, key }) => `${kind} ${key}`),
      ['remove 1', 'create new-1'],
    )
  })

  it('are not created while they are empty', () => {
    const empty = { base: null, name: '', value: '', hidden: false, isRemoved: false }
    assert.deepEqual(operationsOf({ 'new-1': empty }), [])
  })

  it('take over a file: what is new, what changes, what stays', () => {
    const rows = rowsOf([token, host], {})
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['HOST', 'TOKEN'],
    )
    const { entries } = parseDotenv('host=db\nTOKEN=replaced\nSECRET_KEY=0123456789\nPORT=1')
    const pasted = comparePasted(entries, rows)
    assert.deepEqual(
      pasted.map(({ name, change, hidden }) => [name, change, hidden]),
      [
        ['host', 'unchanged', false],
        ['TOKEN', 'changed', true],
        ['SECRET_KEY', 'added', true],
        ['PORT', 'added', false],
      ],
    )
    let count = 0
    const edits = withPasted({}, rows, pasted, () => `new-${++count}`)
    assert.deepEqual(
      operationsOf(edits).map(({ kind, key }) => `${kind} ${key}`),
      ['change 2', 'create new-1', 'create new-2'],
    )
  })
})
