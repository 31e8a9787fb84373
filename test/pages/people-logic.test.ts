// The logic of the pages for members, roles and the audit log, without a browser.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { compareValues, referencedIds } from '#web/pages/audit/compare-values.ts'
import { describeEntry, pageOf } from '#web/pages/audit/entry-text.ts'
import { exportPath, readAuditFilters, toAuditQuery } from '#web/pages/audit/filters.ts'
import {
  scopeChoices,
  scopeName,
  toGrantBody,
  toGrantInput,
  withoutDuplicates,
} from '#web/pages/members/grant-input.ts'
import {
  BUILT_IN_ROLES,
  LISTED_PERMISSIONS,
  summarizePermissions,
  togglePermission,
} from '#web/pages/members/roles.ts'
import { BUILT_IN_ROLES as SERVER_ROLES } from '../../server/access/authorization/permissions.ts'

const NAMES = {
  projects: new Map([
    [3, 'Web shop'],
    [4, 'Blog'],
  ]),
  environments: new Map([[7, { name: 'Production', projectId: 3 }]]),
}

describe('a role', () => {
  it('offers every permission that a route asks for, and no other', () => {
    const text = readFileSync(new URL('../../docs/permissions.md', import.meta.url), 'utf8')
    const routes = text.split('\n').filter((line) => /^\| `[A-Z]+ \//.test(line))
    const asked = new Set(
      routes.flatMap((line) => [...line.matchAll(/`([a-z]+:[a-z]+)`/g)].map(([, one]) => one)),
    )
    // Stands for application:view or server:view.
    asked.delete('resource:view')
    assert.deepEqual([...LISTED_PERMISSIONS].sort(), [...asked].sort())
    assert.deepEqual(BUILT_IN_ROLES.map(({ role }) => role).sort(), [...SERVER_ROLES].sort())
  })

  it('is summed up by what it allows', () => {
    assert.equal(summarizePermissions(LISTED_PERMISSIONS), 'Everything')
    assert.equal(summarizePermissions([]), 'Nothing')
    assert.equal(
      summarizePermissions(['server:view', 'pipeline:run', 'pipeline:view', 'member:run']),
      'Pipelines: view, run · Servers: view',
    )
  })

  it('keeps permissions that the table does not show', () => {
    assert.deepEqual(togglePermission(['member:run', 'hook:view'], 'hook:view'), ['member:run'])
    assert.deepEqual(togglePermission(['member:run'], 'hook:view'), ['member:run', 'hook:view'])
  })
})

describe('a grant', () => {
  it('is a built-in or a custom role in one scope', () => {
    assert.deepEqual(toGrantBody({ role: 'developer', scope: '' }), { role: 'developer' })
    assert.deepEqual(toGrantBody({ role: '12', scope: 'environment:7' }), { role_id: 12, environment_id: 7 })
    const stored = { role: null, role_id: 12, role_name: 'Operator', project_id: 3, environment_id: 7 }
    assert.deepEqual(toGrantInput(stored), { role: '12', scope: 'environment:7' })
    const grant = { role: 'viewer', scope: 'project:3' }
    assert.deepEqual(withoutDuplicates([grant, { ...grant, scope: '' }, { ...grant }]), [
      grant,
      { ...grant, scope: '' },
    ])
  })

  it('names its scope, also one that cannot be seen', () => {
    assert.equal(scopeName({ project_id: 3, environment_id: 7 }, NAMES), 'Web shop / Production')
    assert.equal(scopeName({ project_id: 9, environment_id: null }, NAMES), 'project 9')
    assert.equal(scopeName({ project_id: null, environment_id: null }, NAMES), undefined)
    assert.deepEqual(
      scopeChoices(NAMES).map(({ label }) => label),
      ['Whole organization', 'Web shop', 'Web shop / Production', 'Blog'],
    )
  })
})

describe('the audit log', () => {
  const NOW = Date.parse('2026-11-15T08:00:30.500Z')

  it('is filtered by what the URL says, and by nothing that it does not understand', () => {
    const read = (search: string) => readAuditFilters(new URLSearchParams(search))
    const query = toAuditQuery(read('person=7&kind=server&verb=secret rotated&period=24h'), NOW)
    assert.deepEqual(query, {
      'filter[user_id]': 7,
      'filter[subject_type]': 'server',
      'filter[verb]': 'secret rotated',
      'filter[created_after]': '2026-11-14T08:00:00.000Z',
    })
    assert.equal(exportPath(null, { 'filter[user_id]': 7 }), '/audit/export?filter%5Buser_id%5D=7')
    assert.deepEqual(toAuditQuery(read('person=x&kind=A&period=2y&from=2026-11-01&page=-1'), NOW), {})
    assert.equal(read('page=1.5').page, 1)
  })

  it('includes the last day of a range as a whole', () => {
    const filters = readAuditFilters(new URLSearchParams('period=days&from=2026-11-01&to=2026-11-01'))
    const query = toAuditQuery(filters, NOW)
    const hours =
      (Date.parse(query['filter[created_before]']!) - Date.parse(query['filter[created_after]']!)) / 3_600_000
    assert.ok(hours >= 23 && hours <= 25)
    assert.equal(readAuditFilters(new URLSearchParams('period=days&to=2026-99-01')).to, '')
  })

  it('shows nested fields that changed, with names for ids', () => {
    const before = { name: 'a', settings: { credential_id: 3 }, tags: [1], secret: null }
    const after = { name: 'a', settings: { credential_id: 4 }, tags: [1, 2], grants: [{ project_id: 9 }] }
    assert.deepEqual(
      [...referencedIds(before, after)].map(([type, ids]) => [type, [...ids]]),
      [
        ['credential', ['3', '4']],
        ['project', ['9']],
      ],
    )
    const { changed, unchanged } = compareValues(before, after, (_, id) =>
      id === '4' ? 'GitHub' : undefined,
    )
    assert.deepEqual(changed, [
      { field: 'settings.credential_id', before: '3', after: 'GitHub (#4)' },
      { field: 'tags', before: '[1]', after: '[1,2]' },
      { field: 'grants.0.project_id', before: undefined, after: '9' },
    ])
    assert.deepEqual(
      unchanged.map(({ field }) => field),
      ['name'],
    )
  })

  it('is in words, also for what is not known yet', () => {
    assert.equal(describeEntry({ verb: 'changed', subject_type: 'incoming_hook' }), 'Changed incoming hook')
    assert.equal(describeEntry({ verb: 'signed_in', subject_type: 'user' }), 'Signed in')
    assert.equal(describeEntry({ verb: 'constructor', subject_type: 'new_kind' }), 'Constructor new kind')
    assert.equal(pageOf({ subject_type: 'server', subject_id: '../12' }), '/servers/..%2F12')
    assert.equal(pageOf({ subject_type: 'toString', subject_id: '1' }), undefined)
  })
})
