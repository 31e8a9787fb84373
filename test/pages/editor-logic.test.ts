import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parsePath, readPath } from '#model/payload/payload-path.ts'
import { completionStart } from '#web/shared/editor/completion-range.ts'
import { hookPath, kindOf, parseJson, valueText } from '#web/shared/editor/json-nodes.ts'
import { ancestorIds, findNodes, ROOT_ID, rowId, visibleRows } from '#web/shared/editor/json-rows.ts'
import { nextRow } from '#web/shared/editor/tree-keys.ts'

function parsedValue(text: string): unknown {
  const parsed = parseJson(text)
  assert.equal(parsed.kind, 'json')
  return 'value' in parsed ? parsed.value : undefined
}

describe('names in a code editor', () => {
  test('are offered inside of Liquid expressions only', () => {
    assert.equal(completionStart('{"a": "{{ action.st', 'liquid-json'), 10)
    assert.equal(completionStart('{% if ', 'liquid'), 6)
    assert.equal(completionStart('{{ done }} plain', 'liquid'), undefined)
  })

  test('are offered after a dollar sign in bash', () => {
    assert.equal(completionStart('echo ${GANTRY_', 'bash'), 7)
    assert.equal(completionStart('echo GANTRY_', 'bash'), undefined)
  })
})

describe('a JSON tree', () => {
  test('shows numbers as they were written', () => {
    const value = parsedValue('[12345678901234567890, 1.0, 7]') as unknown[]
    assert.deepEqual(value.map(valueText), ['12345678901234567890', '1.0', '7'])
    assert.deepEqual(value.map(kindOf), ['number', 'number', 'number'])
    assert.equal(JSON.stringify(value), '[12345678901234567890,1.0,7]')
  })

  test('gives paths that the API reads back', () => {
    const payload = { 'a.b': { '': [{ 'say "hi"\\': 1, plain_key: { 'x[0]': 2, été: 3 } }] } }
    for (const { keys, value } of visibleRows(payload, new Set(allIds(payload))).slice(1)) {
      const parsed = parsePath(hookPath(keys))
      assert.equal(parsed.kind, 'path', hookPath(keys))
      assert.deepEqual(readPath(payload, 'keys' in parsed ? parsed.keys : []), value)
    }
    assert.equal(hookPath(['commits', '0', 'id']), 'commits.0.id')
  })

  test('shows what is expanded, and finds what is not', () => {
    const root = { a: { b: ['needle', 'hay'] }, c: 1 }
    assert.deepEqual(
      visibleRows(root, new Set([ROOT_ID])).map(({ name, isExpanded }) => [name, isExpanded]),
      [
        ['', true],
        ['a', false],
        ['c', undefined],
      ],
    )
    assert.deepEqual(findNodes(root, 'NEEDLE', 10), [['a', 'b', '0']])
    const expanded = new Set(ancestorIds(['a', 'b', '0']))
    assert.ok(visibleRows(root, expanded).some(({ id }) => id === rowId(['a', 'b', '0'])))
  })

  test('leaves text and endless nesting alone', () => {
    assert.equal(parseJson('a=1').kind, 'text')
    assert.equal(parseJson('['.repeat(500_000) + ']'.repeat(500_000)).kind, 'text')
  })

  test('moves by arrow keys', () => {
    const rows = visibleRows({ a: { b: 1 }, c: 2 }, new Set([ROOT_ID, rowId(['a'])]))
    assert.equal(nextRow(rows, 0, 'ArrowDown'), 1)
    assert.equal(nextRow(rows, 2, 'ArrowLeft'), 1)
    assert.equal(nextRow(rows, 1, 'ArrowLeft'), 'toggle')
    assert.equal(nextRow(rows, 1, 'ArrowRight'), 2)
    assert.equal(nextRow(rows, 3, 'End'), 3)
    assert.equal(nextRow(rows, 3, 'x'), undefined)
  })
})

function allIds(value: unknown, keys: string[] = []): string[] {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return [rowId(keys), ...inner.flatMap(([key, child]) => allIds(child, [...keys, key]))]
}
