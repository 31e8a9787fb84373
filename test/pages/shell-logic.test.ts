// Pure decisions of the shell: where another scope leads, and what the palette offers.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { initials } from '#web/pages/shell/initials.ts'
import {
  commandsFor,
  correctRequest,
  itemFor,
  pathTo,
  readRequest,
  recentFirst,
  similarNames,
} from '#web/pages/shell/palette-items.ts'
import { runTitle } from '#web/resources/pipelines/pipeline-names.ts'
import { pageForScope } from '#web/shared/scope/scope.ts'
import { scopeOf } from '#web/shared/scope/scope-names.ts'

const pipeline = {
  type: 'pipeline' as const,
  id: 12,
  name: 'Deploy shop',
  path: 'shop/production/web/deploy-shop',
  organization: { id: 1, name: 'Acme' },
  project_id: 2,
  environment_id: 3,
  resource_type: 'application' as const,
  resource_id: 4,
  pipeline_id: null,
  archived: false,
  where: 'web · Shop / Production',
}

describe('another scope', () => {
  const project = { organization: 1, project: 2 }

  it('is shown on this page, or on the list that the object is in', () => {
    assert.equal(pageForScope('/actions', project), '/actions')
    assert.equal(pageForScope('/actions/42', project), '/actions')
    assert.equal(pageForScope('/hooks/incoming/7', project), '/hooks')
  })

  it('leads away from pages that it does not concern', () => {
    assert.equal(pageForScope('/members', { organization: 3 }), '/members')
    assert.equal(pageForScope('/members', project), '/overview')
    assert.equal(pageForScope('/account', project), '/overview')
  })
})

describe('the palette', () => {
  it('reads a number as an action, a command with its object, and anything else as words', () => {
    assert.deepEqual(readRequest(' #42 '), { kind: 'action', id: '42' })
    assert.deepEqual(readRequest('42'), { kind: 'action', id: '42' })
    assert.deepEqual(readRequest('Run deploy shop'), { kind: 'run', text: 'deploy shop' })
    assert.deepEqual(readRequest('rollback shop'), { kind: 'roll-back', text: 'shop' })
    assert.deepEqual(readRequest('roll back to shop'), { kind: 'roll-back', text: 'shop' })
    assert.deepEqual(readRequest('run'), { kind: 'run', text: '' })
    assert.deepEqual(readRequest('roll back'), { kind: 'roll-back', text: '' })
    assert.deepEqual(readRequest('deploy shop'), { kind: 'deploy', text: 'shop' })
    assert.deepEqual(readRequest('0a1B2c3'), { kind: 'commit', text: '0a1B2c3' })
    assert.deepEqual(readRequest('running'), { kind: 'find', text: 'running' })
    assert.deepEqual(readRequest('deployment'), { kind: 'find', text: 'deployment' })
    assert.deepEqual(readRequest('продакшн 1'), { kind: 'find', text: 'продакшн 1' })
  })

  it('understands small typos in verbs, names and commands', () => {
    const corrected = (input: string) => correctRequest(readRequest(input))
    assert.deepEqual(corrected('depoly shop'), { kind: 'deploy', text: 'shop' })
    assert.deepEqual(corrected('roll bakc shop'), { kind: 'roll-back', text: 'shop' })
    assert.deepEqual(corrected('shop'), { kind: 'find', text: 'shop' })
    const names = [{ name: 'Deploy web shop' }, { name: 'Reindex' }]
    assert.deepEqual(similarNames(names, 'shpo'), [names[0]])
    assert.deepEqual(similarNames(names, 'rendex'), [names[1]])
    assert.deepEqual(similarNames(names, 'invoice'), [])
    assert.deepEqual(
      commandsFor('go to pipelnes', '', false).map(({ label }) => label),
      ['Go to Pipelines'],
    )
  })

  it('leads to the page of an entry, or to the page that shows it', () => {
    assert.equal(pathTo(pipeline), '/pipelines/12')
    assert.equal(pathTo({ ...pipeline, type: 'outgoing_hook', id: 'a-b' }), '/hooks/outgoing/a-b')
    const scope = 'organization=1&project=2&environment=3'
    assert.equal(pathTo({ ...pipeline, type: 'environment' }), `/overview?${scope}`)
    const credential = { ...pipeline, type: 'credential' as const, project_id: null, environment_id: null }
    assert.equal(pathTo(credential), '/credentials?organization=1')
  })

  it('says where something is, in names', () => {
    const names = new Map(
      Object.entries({ 'project:2': 'Shop', 'environment:3': 'Production', 'application:4': 'web' }),
    )
    assert.equal(scopeOf(pipeline, names), 'web · Shop / Production')
    assert.equal(scopeOf({ ...pipeline, type: 'environment', resource_type: null }, names), 'Shop')
    assert.equal(scopeOf({ ...pipeline, type: 'project' }, names), 'Acme')
    assert.equal(scopeOf({ ...pipeline, type: 'organization', project_id: null }, names), '')
  })

  it('runs what is found after "run"', () => {
    const { label, choice } = itemFor(pipeline, readRequest('run shop'))
    assert.equal(label, 'Run Deploy shop')
    assert.deepEqual(choice, { kind: 'go', to: '/pipelines/12?run=1' })
  })

  it('finds commands by their words, in the scope that is carried', () => {
    const found = commandsFor('ADD serv', '?organization=1', false)
    assert.deepEqual(
      found.map(({ choice }) => choice),
      [{ kind: 'go', to: '/servers?organization=1&add=1' }],
    )
    assert.equal(commandsFor('users', '', false).length, 0)
    assert.equal(commandsFor('users', '', true).length, 1)
  })

  it('puts what was chosen before first', () => {
    const [one, two, three] = commandsFor('go to', '', false)
    const keys = recentFirst([one!, two!, three!], [three!]).map(({ key }) => key)
    assert.deepEqual(keys, [three!.key, one!.key, two!.key])
  })
})

it('a run is titled by its pipeline, also where its name is unknown', () => {
  assert.equal(runTitle('Deploy shop', 42), 'Deploy shop #42')
  assert.equal(runTitle(undefined, 42), 'Run #42')
})

it('initials are whole characters of any script', () => {
  assert.equal(initials('Ada Lovelace'), 'AL')
  assert.equal(initials('ada'), 'A')
  assert.equal(initials('👩‍💻 é́mile'), '👩‍💻É́')
  assert.equal(initials(' '), '')
})
