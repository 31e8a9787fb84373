import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { containment, readCommitDigits, releaseState } from '#web/pages/applications/server-releases.ts'
import {
  type ApplicationRecord,
  applicationBody,
  applicationChange,
  applicationValues,
  type Inspection,
  NEW_APPLICATION,
  nameOf,
  withDetected,
  withKnownOnly,
} from '#web/resources/applications/application-input.ts'
import {
  credentialBody,
  credentialChange,
  credentialValues,
  newCredential,
  providerOf,
  withProvider,
} from '#web/resources/credentials/credential-input.ts'
import type { Credential } from '#web/resources/credentials/credentials.ts'
import { authorizeCommand, checkItems } from '#web/resources/servers/check.ts'
import {
  NEW_SERVER,
  type ServerRecord,
  serverBody,
  serverChange,
  serverValues,
  withAddress,
  withRoot,
} from '#web/resources/servers/server-input.ts'
import {
  type EnvironmentChoice,
  environmentChoices,
  keepChoice,
} from '#web/shared/scope/environment-choice.ts'

const SERVER = {
  name: 'web-1',
  provider_code: 'ssh',
  host: 'web-1.example.com',
  port: 22,
  login_name: 'deploy',
  credential_id: 3,
  host_key: 'SHA256:abc',
  root_directory: '/srv/apps',
  max_parallel_actions: 1,
} as ServerRecord

describe('the form of a server', () => {
  it('takes an address as people copy it apart', () => {
    const entered = (host: string) => {
      const { host: name, port, login_name, root_directory } = withAddress({ ...NEW_SERVER, host })
      return [name, port, login_name, root_directory]
    }
    assert.deepEqual(entered(' web-1.example.com '), ['web-1.example.com', 22, '', '/srv/apps'])
    assert.deepEqual(entered('web-1:2222'), ['web-1', 2222, '', '/srv/apps'])
    assert.deepEqual(entered('ssh://deploy@10.0.0.5:2222/'), [
      '10.0.0.5',
      2222,
      'deploy',
      '/home/deploy/apps',
    ])
    assert.deepEqual(entered('[fd12::1]:2222'), ['fd12::1', 2222, '', '/srv/apps'])
    assert.deepEqual(entered('fd12::1'), ['fd12::1', 22, '', '/srv/apps'])
    assert.deepEqual(entered('web 1:22'), ['web 1:22', 22, '', '/srv/apps'])
    assert.equal(serverBody({ ...NEW_SERVER, host: 'web-1:2222' }).port, 2222)
  })

  it('offers a command that authorizes a key, whatever its comment is', () => {
    const command = authorizeCommand("ssh-ed25519 AAAA ada's key\n")
    assert.match(command, /echo 'ssh-ed25519 AAAA ada'\\''s key' >> ~\/\.ssh\/authorized_keys/)
  })

  it('sends nothing about SSH for this machine', () => {
    const values = { ...NEW_SERVER, provider_code: 'local' as const, name: ' here ', host: 'left over' }
    assert.deepEqual(serverBody(values), {
      name: 'here',
      provider_code: 'local',
      root_directory: '/srv/apps',
      max_parallel_actions: 1,
    })
  })

  it('sends the worker of a local server when there is one, and null when it is removed', () => {
    const local = { ...SERVER, provider_code: 'local', worker_name: 'm1' } as ServerRecord
    const values = serverValues(local)
    assert.equal(serverBody(values).worker_name, 'm1')
    assert.deepEqual(serverChange(values, values), {})
    assert.deepEqual(serverChange(values, { ...values, worker_name: 'm2' }), { worker_name: 'm2' })
    assert.deepEqual(serverChange(values, { ...values, worker_name: ' ' }), { worker_name: null })
  })

  it('proposes a folder that the account can write to, until the person chooses one', () => {
    const named = withRoot(NEW_SERVER, { login_name: 'deploy' })
    assert.equal(named.root_directory, '/home/deploy/apps')
    assert.equal(withRoot(named, { login_name: 'root' }).root_directory, '/srv/apps')
    const chosen = { ...named, root_directory: '/opt/sites' }
    assert.equal(withRoot(chosen, { login_name: 'web' }).root_directory, '/opt/sites')
  })

  it('sends only what was changed, so that a new host clears the pinned key', () => {
    assert.deepEqual(serverChange(serverValues(SERVER), serverValues(SERVER)), {})
    const moved = { ...serverValues(SERVER), host: 'web-2.example.com' }
    assert.deepEqual(serverChange(serverValues(SERVER), moved), { host: 'web-2.example.com' })
  })
})

describe('the test of a connection', () => {
  const check = {
    ok: true,
    message: 'fine',
    host_key_fingerprint: 'SHA256:abc',
    pinned: false,
    user: 'deploy',
    free_disk_bytes: 3_200_000_000,
    root_directory_writable: true,
    steps_survive: null,
    attached_because: null,
    checked_at: '2026-01-01T00:00:00.000Z',
  }

  it('lists each check', () => {
    assert.deepEqual(
      checkItems(check, true, '/srv').map(({ state, text }) => `${state}: ${text}`),
      [
        'passed: Host key SHA256:abc, not pinned yet',
        'passed: Logged in as deploy',
        'passed: /srv can be written',
        'passed: 3.2 GB free on its disk',
      ],
    )
  })

  it('says whether steps survive a lost connection, and why they do not', () => {
    const last = (more: object) => checkItems({ ...check, ...more }, true, '/srv').at(-1)
    const because = { steps_survive: false, attached_because: 'It has no /proc.' }
    assert.deepEqual(last({ steps_survive: true }), {
      state: 'passed',
      text: 'Steps survive a lost connection',
    })
    assert.deepEqual(last(because), {
      state: 'unknown',
      text: 'Steps end with their connection: It has no /proc.',
    })
  })

  it('says why the server was not reached', () => {
    const failed = {
      ...check,
      ok: false,
      message: 'Login refused.',
      user: null,
      root_directory_writable: null,
    }
    assert.deepEqual(
      checkItems(failed, true, '/srv').map(({ state, text }) => `${state}: ${text}`),
      ['unknown: Host key SHA256:abc, not pinned yet', 'failed: Login refused.'],
    )
  })
})

const FOUND = {
  reachable: true,
  default_branch: 'trunk',
  language: 'nodejs',
  framework: 'nextjs',
  engine_version: '22',
  install_dependencies_command: 'npm ci',
  build_command: 'npm run build',
  shared_paths: ['.env', 'storage/'],
} as Inspection

describe('the form of an application', () => {
  it('fills in what was detected, but nothing that the person wrote', () => {
    const before = {
      ...NEW_APPLICATION,
      repository: 'git@github.com:acme/shop.git',
      build_command: 'make',
    }
    const after = withDetected(before, FOUND, undefined)
    assert.equal(after.name, 'shop')
    assert.equal(after.default_branch, 'trunk')
    assert.equal(after.install_dependencies_command, 'npm ci')
    assert.equal(after.build_command, 'make')
    assert.equal(after.shared_paths, '.env\nstorage/')
    const other = { ...FOUND, default_branch: 'main', install_dependencies_command: null }
    const again = withDetected(after, other, FOUND)
    assert.equal(again.default_branch, 'main')
    assert.equal(again.install_dependencies_command, '')
    assert.equal(again.build_command, 'make')
  })

  it('does not write into the field that the person is in', () => {
    const before = { ...NEW_APPLICATION, repository: 'git@github.com:acme/shop.git' }
    const after = withDetected(before, FOUND, undefined, 'name')
    assert.deepEqual([after.name, after.default_branch], ['', 'trunk'])
  })

  it('renames it after the corrected repository, unless the person named it', () => {
    const wrong = 'https://github.com/acme/shoop.git'
    const corrected = { ...NEW_APPLICATION, repository: 'https://github.com/acme/shop.git' }
    const name = (before: string) =>
      withDetected({ ...corrected, name: before }, FOUND, undefined, undefined, wrong).name
    assert.deepEqual([name('shoop'), name(''), name('Web shop')], ['shop', 'shop', 'Web shop'])
  })

  it('leaves what it has when the repository cannot be reached', () => {
    const before = { ...NEW_APPLICATION, repository: 'acme/shop', default_branch: 'trunk' }
    const after = withDetected(before, { ...FOUND, reachable: false }, FOUND)
    assert.deepEqual(after, { ...before, name: 'shop' })
  })

  it('sends lists and numbers as the API takes them', () => {
    const values = {
      ...NEW_APPLICATION,
      name: 'shop',
      repository: 'acme/shop',
      shared_paths: ' .env\n\nstorage/ ',
      linked_resources: ['2', '7'],
      deployments_keep: '' as const,
      submodules: 'ignore' as const,
    }
    const body = applicationBody(values)
    assert.deepEqual(body.shared_paths, ['.env', 'storage/'])
    assert.deepEqual(body.linked_resources, [
      { resource_type: 'server', resource_id: 2 },
      { resource_type: 'server', resource_id: 7 },
    ])
    assert.equal(body.deployments_keep, 5)
    assert.equal(body.submodules, 'ignore')
    assert.equal(applicationBody(NEW_APPLICATION).submodules, 'fetch')
    assert.equal(body.build_command, null)
  })

  it('sends only what was changed', () => {
    const application = {
      name: 'shop',
      repository: 'acme/shop',
      credential: null,
      default_branch: 'main',
      shared_paths: ['.env'],
      deployments_keep: 5,
      submodules: 'ignore',
      health_check: null,
      linked_resources: [{ resource_type: 'server', resource_id: 2 }],
    } as unknown as ApplicationRecord
    const values = applicationValues(application)
    assert.deepEqual(applicationChange(values, { ...values, build_command: 'make' }), {
      build_command: 'make',
    })
  })

  it('forgets what a draft names and another environment has', () => {
    const draft = { ...NEW_APPLICATION, name: 'shop', linked_resources: ['2', '7'], credential_id: '3' }
    const known = withKnownOnly(draft, [{ id: 7 }], [])
    assert.deepEqual(known, { ...draft, linked_resources: ['7'], credential_id: '' })
  })

  it('names an application after its repository', () => {
    assert.equal(nameOf('https://github.com/acme/shop.git'), 'shop')
    assert.equal(nameOf('git@github.com:shop.git'), 'shop')
    assert.equal(nameOf('file:///srv/git/商店/'), '商店')
    assert.equal(nameOf(''), '')
  })
})

describe('the form of a credential', () => {
  it('sends only the fields that its provider has', () => {
    const values = { ...newCredential('github'), token: 'abc', username: 'left over' }
    assert.deepEqual(credentialBody(values), {
      provider_code: 'github',
      name: 'GitHub',
      base_url: null,
      token_targets: 'anywhere',
      ssh_hosts: [],
      active: true,
      token: 'abc',
    })
    assert.deepEqual(credentialBody({ ...values, provider_code: 'ssh' }), {
      provider_code: 'ssh',
      name: 'GitHub',
      active: true,
      generate: true,
    })
  })

  it('keeps a secret that was not typed', () => {
    const stored = {
      name: 'GitHub',
      provider: { code: 'github' },
      base_url: null,
      username: null,
      active: true,
      token_targets: 'anywhere',
      ssh_hosts: ['ssh.example.com'],
    } as unknown as Credential
    const values = { ...newCredential('github'), generate: false, ssh_hosts: ['ssh.example.com'] }
    assert.deepEqual(credentialChange(credentialValues(stored), values), {})
    assert.deepEqual(
      credentialChange(credentialValues(stored), { ...values, token: ' new ', active: false }),
      {
        token: 'new',
        active: false,
      },
    )
  })

  it('names itself after its provider until the person writes a name', () => {
    assert.equal(withProvider(newCredential('github'), 'gitlab').name, 'GitLab')
    assert.equal(withProvider({ ...newCredential('github'), name: 'Shop' }, 'gitlab').name, 'Shop')
  })

  it('is guessed from the repository', () => {
    assert.deepEqual(providerOf('https://github.com/acme/shop'), { provider: 'github', base_url: '' })
    assert.deepEqual(providerOf('git@github.com:acme/shop.git'), { provider: 'ssh', base_url: '' })
    assert.deepEqual(providerOf('https://git.example.com/acme/shop'), {
      provider: 'git',
      base_url: 'https://git.example.com',
    })
    assert.deepEqual(providerOf('acme/shop'), { provider: 'github', base_url: '' })
  })
})

describe('the choice of an environment', () => {
  const entry = (type: string, id: number, name: string, archived = false) => ({
    type,
    id,
    name,
    organization: { id: 1, name: 'Acme' },
    project_id: 5,
    environment_id: type === 'environment' ? id : null,
    archived,
  })

  it('names the project, and leaves out archived environments', () => {
    const names = [
      entry('project', 5, 'Shop'),
      entry('environment', 8, 'Production'),
      entry('environment', 9, 'Old', true),
    ] as never
    assert.deepEqual(environmentChoices(names), [
      { organization: 1, project: 5, environment: 8, label: 'Shop / Production' },
    ])
  })

  it('stays when the permission is lost there and remains elsewhere, until the person chooses another', () => {
    const [live, test] = [8, 9].map((environment) => ({
      organization: 1,
      project: 5,
      environment,
      label: `${environment}`,
    })) as [EnvironmentChoice, EnvironmentChoice]
    const before = keepChoice(undefined, [live, test], live, undefined)
    assert.deepEqual(before, { choices: [live, test], choice: live })
    assert.deepEqual(keepChoice(before, [], undefined, undefined), before)
    const lost = keepChoice(before, [test], test, undefined)
    assert.deepEqual(lost, { choices: [live, test], choice: live })
    assert.deepEqual(keepChoice(before, [test, live], test, undefined)?.choice, live)
    assert.deepEqual(keepChoice(lost, [test], test, 9), { choices: [test], choice: test })
  })
})

describe('releases on servers', () => {
  it('are live, reverted, were live or never were', () => {
    const state = (live: boolean, was_live: boolean, reverted = false) =>
      releaseState({ live, was_live, reverted })
    assert.deepEqual(
      [state(true, true), state(false, true), state(false, false), state(false, true, true)],
      ['Live', 'Was live', 'Never live', 'Reverted'],
    )
  })

  it('contain a commit, or say why that is unknown', () => {
    assert.equal(readCommitDigits(' 1A2B3C4 '), '1a2b3c4')
    for (const wrong of ['', 'main', '123456', 'f'.repeat(41)])
      assert.equal(readCommitDigits(wrong), undefined)
    assert.equal(containment({ contains: true, contains_reason: null }), 'Live')
    assert.equal(containment({ contains: false, contains_reason: null }), 'Not live')
    assert.match(containment({ contains: null, contains_reason: 'unknown_commit' }), /no deploy has fetched/)
  })
})
