// The logic of the pages for members, roles and the audit log, without a browser.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { BUILT_IN_ROLES as SERVER_ROLES } from '../../server/access/authorization/permissions.ts'
import {
  scopeChoices,
  scopeName,
  toGrantBody,
  toGrantInput,
  withoutDuplicates,
} from '../../web/src/members/grant-input.ts'
import {
  BUILT_IN_ROLES,
  LISTED_PERMISSIONS,
  summarizePermissions,
  togglePermission,
} from '../../web/src/members/roles.ts'

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
