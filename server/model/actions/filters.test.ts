import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '#platform/http/errors.ts'
import { type ActionFilters, environmentsMatching, filterQuery, filtersOf } from './filters.ts'

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
  'gate',
  'approvable',
  'branch',
  'trigger_type',
  'hook_id',
  'user_id',
  'created_after',
  'created_before',
]

function parse(given: Record<string, string>): ActionFilters {
  return filtersOf(Object.fromEntries(Object.entries(given).map(([name, text]) => [`filter[${name}]`, text])))
}

function errorsOf(given: Record<string, string>): Record<string, string[]> {
  try {
    parse(given)
    return {}
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return error.errors!
  }
}

const errorOf = (name: string, text: string) => errorsOf({ [name]: text })[`filter[${name}]`]?.join()

test('the filters are those of the contract, and the person', () => {
  assert.deepEqual(
    Object.keys(filterQuery),
    KNOWN.map((name) => `filter[${name}]`),
  )
})

test('no filter selects everything', () => {
  assert.deepEqual(parse({}), {})
})

test('values are separated by commas, and none counts twice', () => {
  assert.deepEqual(parse({ project_id: '7' }), { project_id: [7] })
  assert.deepEqual(parse({ project_id: '7, 8,7' }), { project_id: [7, 8] })
  assert.deepEqual(parse({ status: 'failed,in-progress,failed' }), { status: ['failed', 'in-progress'] })
})

test('hook ids are case-insensitive', () => {
  const id = '0d9d7dbe-1c49-4a2f-a1f6-5d6bf6b2a4c1'
  assert.deepEqual(parse({ hook_id: `${id},${id.toUpperCase()}` }), { hook_id: [id] })
})

describe('the alias operation', () => {
  test('means type', () => {
    assert.deepEqual(parse({ operation: 'deploy,restart' }), { type: ['deploy', 'restart'] })
  })

  test('together with type means both, even when nothing matches', () => {
    assert.deepEqual(parse({ type: 'deploy,restart', operation: 'restart,stop' }), { type: ['restart'] })
    assert.deepEqual(parse({ type: 'deploy', operation: 'stop' }), { type: [] })
  })
})

describe('ids', () => {
  for (const text of ['0', '-1', '1.5', 'x', '', '1,', '1,,2', '01', '9007199254740992', '1e3', '%', '१']) {
    test(`${JSON.stringify(text)} is rejected`, () => {
      for (const name of ['organization_id', 'project_id', 'environment_id', 'pipeline_id', 'resource_id']) {
        assert.equal(errorOf(name, text), 'must list integers from 1 to 9007199254740991')
      }
    })
  }

  test('the highest id is accepted', () => {
    assert.deepEqual(parse({ pipeline_id: '9007199254740991' }), { pipeline_id: [9007199254740991] })
  })

  test('100 values are accepted, 101 are rejected', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => index + 1).join()
    assert.equal(parse({ project_id: list(100) }).project_id?.length, 100)
    assert.equal(errorOf('project_id', list(101)), 'must list at most 100 values')
  })
})

describe('enumerated values', () => {
  test('an unknown value is rejected with the list of known ones', () => {
    assert.equal(errorOf('resource_type', 'application,boat'), 'must be any of: application, server')
    assert.equal(errorOf('trigger_type', 'cron'), 'must be any of: hook, manual, retry, pipeline')
    assert.match(errorOf('status', 'in_progress') ?? '', /pending, waiting, queued, in-progress, completed/)
    assert.match(errorOf('operation', 'Deploy') ?? '', /deploy, configure, provision/)
  })

  test('an inherited property name is not a known value', () => {
    assert.match(errorOf('type', 'constructor') ?? '', /must be any of/)
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
      assert.deepEqual(parse({ created_after: text, created_before: text }), {
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
    test(`${JSON.stringify(text)} is rejected`, () => {
      assert.match(errorOf('created_after', text) ?? '', /ISO 8601/)
    })
  }
})

test('all errors are reported at once', () => {
  const errors = errorsOf({ project_id: 'x', status: 'lost', created_before: 'soon', type: 'deploy' })
  assert.deepEqual(Object.keys(errors), ['filter[project_id]', 'filter[status]', 'filter[created_before]'])
})

test('environments are selected by organization, project and id', () => {
  const visible = [
    { organization_id: 1, project_id: 2, environment_id: 3 },
    { organization_id: 1, project_id: 4, environment_id: 5 },
    { organization_id: 6, project_id: 7, environment_id: 8 },
  ]
  const wanted = (filters: ActionFilters) => environmentsMatching(filters, visible)
  assert.deepEqual(wanted({}), [3, 5, 8])
  assert.deepEqual(wanted({ organization_id: [1] }), [3, 5])
  assert.deepEqual(wanted({ organization_id: [1], project_id: [4, 7] }), [5])
  assert.deepEqual(wanted({ environment_id: [3, 99] }), [3])
})
