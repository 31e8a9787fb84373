import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filterQuery, readFilters } from './filters.ts'

const KNOWN = [
  'organization_id',
  'project_id',
  'environment_id',
  'pipeline_id',
  'resource_type',
  'resource_id',
  'status',
  'type',
  'operation',
  'trigger_type',
  'hook_id',
  'created_after',
  'created_before',
]

function read(given: Record<string, string>) {
  return readFilters(
    Object.fromEntries(Object.entries(given).map(([name, text]) => [`filter[${name}]`, text])),
  )
}

function filtersOf(given: Record<string, string>) {
  const outcome = read(given)
  assert.equal(outcome.kind, 'read', JSON.stringify(outcome))
  return outcome.kind === 'read' ? outcome.filters : {}
}

function faultOf(name: string, text: string): string | undefined {
  const outcome = read({ [name]: text })
  return outcome.kind === 'wrong' ? outcome.errors[`filter[${name}]`]?.join() : undefined
}

test('the filters are those of the contract', () => {
  assert.deepEqual(
    Object.keys(filterQuery),
    KNOWN.map((name) => `filter[${name}]`),
  )
})

test('nothing asked for is nothing filtered', () => {
  assert.deepEqual(filtersOf({}), {})
})

test('one value is a list of one, a comma separates several, and none counts twice', () => {
  assert.deepEqual(filtersOf({ project_id: '7' }), { project_id: [7] })
  assert.deepEqual(filtersOf({ project_id: '7, 8,7' }), { project_id: [7, 8] })
  assert.deepEqual(filtersOf({ status: 'failed,in-progress,failed' }), { status: ['failed', 'in-progress'] })
})

test('a hook is one hook however its id is written', () => {
  const id = '0d9d7dbe-1c49-4a2f-a1f6-5d6bf6b2a4c1'
  assert.deepEqual(filtersOf({ hook_id: `${id},${id.toUpperCase()}` }), { hook_id: [id] })
})

describe('the alias operation', () => {
  test('stands for type', () => {
    assert.deepEqual(filtersOf({ operation: 'deploy,restart' }), { type: ['deploy', 'restart'] })
  })

  test('together with type means both, even when nothing is left', () => {
    assert.deepEqual(filtersOf({ type: 'deploy,restart', operation: 'restart,stop' }), { type: ['restart'] })
    assert.deepEqual(filtersOf({ type: 'deploy', operation: 'stop' }), { type: [] })
  })
})

describe('ids', () => {
  for (const text of ['0', '-1', '1.5', 'x', '', '1,', '1,,2', '01', '9007199254740992', '1e3', '%', '१']) {
    test(`${JSON.stringify(text)} is refused`, () => {
      for (const name of ['organization_id', 'project_id', 'environment_id', 'pipeline_id', 'resource_id']) {
        assert.equal(faultOf(name, text), 'must list whole numbers from 1 to 9007199254740991')
      }
    })
  }

  test('the greatest id is taken', () => {
    assert.deepEqual(filtersOf({ pipeline_id: '9007199254740991' }), { pipeline_id: [9007199254740991] })
  })

  test('a hundred values are taken, one more is refused', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => index + 1).join()
    assert.equal(filtersOf({ project_id: list(100) }).project_id?.length, 100)
    assert.equal(faultOf('project_id', list(101)), 'must list at most 100 values')
  })
})

describe('words', () => {
  test('an unknown one is refused with the known ones', () => {
    assert.equal(faultOf('resource_type', 'application,boat'), 'must be any of: application, server')
    assert.equal(faultOf('trigger_type', 'cron'), 'must be any of: hook, manual, retry, pipeline')
    assert.match(faultOf('status', 'in_progress') ?? '', /pending, waiting, queued, in-progress, completed/)
    assert.match(faultOf('operation', 'Deploy') ?? '', /deploy, configure, provision/)
  })

  test('what every object inherits is no word', () => {
    assert.match(faultOf('type', 'constructor') ?? '', /must be any of/)
  })
})

describe('times', () => {
  const read: Record<string, string> = {
    '2026-11-15': '2026-11-15T00:00:00.000Z',
    '2026-11-15T08:00Z': '2026-11-15T08:00:00.000Z',
    '2026-11-15T08:00:00Z': '2026-11-15T08:00:00.000Z',
    '2026-11-15T08:00:00.12Z': '2026-11-15T08:00:00.120Z',
    '2026-11-15T08:00:00+05:30': '2026-11-15T02:30:00.000Z',
    '2026-11-15T08:00:00 05:30': '2026-11-15T02:30:00.000Z',
    '2026-11-15T20:00:00-08:00': '2026-11-16T04:00:00.000Z',
    '2024-02-29': '2024-02-29T00:00:00.000Z',
  }
  for (const [text, moment] of Object.entries(read)) {
    test(`${text} is ${moment}`, () => {
      assert.deepEqual(filtersOf({ created_after: text, created_before: text }), {
        created_after: moment,
        created_before: moment,
      })
    })
  }

  for (const text of [
    'yesterday',
    '',
    '1763193600',
    '2026-11-15T08:00:00',
    '2026-11-15 08:00:00Z',
    '2026-13-01',
    '2026-02-30',
    '2025-02-29T08:00:00Z',
    '2026-04-31T08:00:00+02:00',
    '2026-11-15T25:00:00Z',
    '0000-01-01',
  ]) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.match(faultOf('created_after', text) ?? '', /ISO 8601/)
    })
  }
})

test('all faults are told at once', () => {
  const outcome = read({ project_id: 'x', status: 'lost', created_before: 'soon', type: 'deploy' })
  assert.deepEqual(outcome.kind === 'wrong' && Object.keys(outcome.errors), [
    'filter[project_id]',
    'filter[status]',
    'filter[created_before]',
  ])
})
