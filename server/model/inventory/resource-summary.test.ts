import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summarize } from './load-scopes.ts'

test('every kind has singular and plural names, machine- and human-readable', () => {
  const summary = summarize({
    project: 1,
    environment: 2,
    application: 3,
    server: 4,
    pipeline: 5,
    credential: 6,
  })
  assert.deepEqual(
    summary.map((one) => [
      one.resource_type,
      one.resource_type_plural,
      one.resource_type_human_readable,
      one.resource_type_human_readable_plural,
      one.summary.count,
    ]),
    [
      ['project', 'projects', 'Project', 'Projects', 1],
      ['environment', 'environments', 'Environment', 'Environments', 2],
      ['application', 'applications', 'Application', 'Applications', 3],
      ['server', 'servers', 'Server', 'Servers', 4],
      ['pipeline', 'pipelines', 'Pipeline', 'Pipelines', 5],
      ['credential', 'credentials', 'Credential', 'Credentials', 6],
    ],
  )
})

test('a kind without resources counts as 0, one that was not counted is left out', () => {
  const summary = summarize({ server: 0, application: 2 })
  assert.deepEqual(
    summary.map((one) => [one.resource_type, one.summary]),
    [
      ['application', { count: 2 }],
      ['server', { count: 0 }],
    ],
  )
})
