// Hooks send tokens about the repository of their application: who may make it another one, and which hosts it may be at.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree, grantRole, type TestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })

const STATUS = { settings: { preset: { kind: 'github_status' } } }
const HEADER = (value: string) => ({
  target_url: 'https://api.github.com/repos/{{ application.repository_owner }}/x',
  settings: { request_headers: [{ name: 'Authorization', value }] },
})

async function addCredential(tree: TestTree, input: object = {}): Promise<number> {
  const body = { name: `Credential ${Math.random()}`, provider_code: 'github', token: 'a-token', ...input }
  const url = `/organizations/${tree.organizationId}/credentials`
  const made = await request('POST', url, { token: tree.owner.token, body })
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

async function addHook(tree: TestTree, input: object, token = tree.owner.token) {
  return request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
    token,
    body: { name: 'Notify', ...input },
  })
}

async function setRepository(tree: TestTree, repository: string, credential_id: number | null = null) {
  await db
    .updateTable('applications')
    .set({ repository, credential_id })
    .where('id', '=', tree.applicationId)
    .execute()
}

/** An application without a credential, and a developer, who may edit it but not use credentials. */
async function open(repository = 'https://github.com/acme/shop.git') {
  const tree = await createTestTree(db)
  await setRepository(tree, repository)
  const developer = await createMember(db, tree, 'developer')
  const change = (body: object, token = developer.token) =>
    request('PUT', `/applications/${tree.applicationId}`, { token, body })
  return { tree, developer, change }
}

suite('to change the repository of an application', () => {
  test('requires credential:run if one of its hooks sends a token', async () => {
    const { tree, change } = await open()
    const repository = 'https://github.com/victim/payments.git'
    assert.equal((await change({ repository })).status, 200)
    assert.equal((await change({ repository: 'https://github.com/acme/shop.git' })).status, 200)
    const credential_id = await addCredential(tree)
    const made = await addHook(tree, { ...STATUS, credential_id, name: 'Status' })
    assert.equal(made.status, 201, made.text)
    const refused = await change({ repository })
    assert.equal(refused.status, 403, refused.text)
    assert.match(refused.body.message, /Status.*credential:run/)
    // Neither does another field in the same request let it pass, nor a hook that is switched off.
    assert.equal((await change({ repository, build_command: 'make' })).status, 403)
    const off = { token: tree.owner.token, body: { active: false } }
    assert.equal((await request('PUT', `/hooks/outgoing/${made.body.id}`, off)).status, 200)
    assert.equal((await change({ repository })).status, 403)
    assert.equal((await change({ build_command: 'make' })).status, 200)
    assert.equal((await change({ repository }, tree.owner.token)).status, 200)
  })

  test('requires it for every kind of hook that sends one, and for no other', async () => {
    const repository = 'https://github.com/acme/other'
    const sending = [
      STATUS,
      { settings: { preset: { kind: 'github_deployment' } } },
      HEADER('{{ credential.access_token }}'),
      { ...HEADER("x{{ credential.access_token | split: '' | join: ' ' }}"), active: false },
    ]
    for (const hook of sending) {
      const { tree, change } = await open()
      const made = await addHook(tree, { ...hook, credential_id: await addCredential(tree) })
      assert.equal(made.status, 201, made.text)
      assert.equal((await change({ repository })).status, 403)
    }
    const { tree, change } = await open()
    const credential_id = await addCredential(tree)
    assert.equal((await addHook(tree, { ...HEADER('none'), credential_id })).status, 201)
    assert.equal((await change({ repository })).status, 200)
    // The hook of another application does not matter either.
    const other = await open()
    assert.equal(
      (await addHook(other.tree, { ...STATUS, credential_id: await addCredential(other.tree) })).status,
      201,
    )
    assert.equal((await change({ repository: 'https://github.com/acme/shop' })).status, 200)
  })

  test('does not mean another spelling of the same address', async () => {
    const same: [string, string[]][] = [
      [
        'https://github.com/acme/shop.git',
        [
          'https://GitHub.com/acme/shop.git',
          'https://github.com:443/acme/shop.git',
          'https://github.com/acme/shop',
          'https://github.com/acme/shop/',
        ],
      ],
      ['ssh://git@github.com/acme/shop', ['ssh://git@GITHUB.com:22/acme/shop.git']],
      ['git@github.com:acme/shop', ['git@github.com:acme/shop.git']],
    ]
    const other: [string, string[]][] = [
      [
        'https://github.com/acme/shop.git',
        [
          'https://github.com/Acme/shop.git',
          'https://github.com:8443/acme/shop.git',
          'http://github.com/acme/shop.git',
          'https://somebody@github.com/acme/shop.git',
          'git@github.com:acme/shop.git',
          'https://github.com/acme/shop.git.git',
        ],
      ],
      [
        'git@github.com:acme/shop.git',
        [
          'git@ssh.github.com:acme/shop.git',
          'ssh://git@ssh.github.com:443/acme/shop.git',
          'other@github.com:acme/shop.git',
          'ssh://git@github.com/acme/shop.git',
        ],
      ],
    ]
    for (const [cases, status] of [
      [same, 200],
      [other, 403],
    ] as const)
      for (const [repository, spellings] of cases) {
        const { tree, change } = await open(repository)
        assert.equal(
          (await addHook(tree, { ...STATUS, credential_id: await addCredential(tree) })).status,
          201,
        )
        for (const spelling of spellings) {
          const answer = await change({ repository: spelling })
          assert.equal(answer.status, status, `${spelling}: ${answer.text}`)
        }
      }
  })

  test('does not need it when only the spelling changes of a repository with a credential', async () => {
    const { tree, change } = await open()
    await setRepository(tree, 'https://github.com/acme/shop.git', tree.credentialId)
    assert.equal((await change({ repository: 'https://GitHub.com/acme/shop' })).status, 200)
    const short = await change({ repository: 'acme/shop' })
    assert.equal(short.status, 200, short.text)
    assert.equal((await change({ repository: 'acme/other' })).status, 403)
  })

  test('requires it through apply as well', async () => {
    const { tree, developer, change } = await open()
    const credential_id = await addCredential(tree)
    assert.equal((await addHook(tree, { ...STATUS, credential_id })).status, 201)
    const { token } = tree.owner
    const project = await request('GET', `/projects/${tree.projectId}`, { token })
    const exported = await request(
      'GET',
      `/organizations/${tree.organizationId}/export?project=${encodeURIComponent(project.body.name)}`,
      {
        token,
      },
    )
    assert.equal(exported.status, 200, exported.text)
    const document = exported.text
      .replace('https://github.com/acme/shop.git', 'https://github.com/victim/payments')
      .replace(/^credentials:\n( .*\n)+/m, '')
    assert.match(document, /victim/)
    const apply = (as: string, dry_run: boolean) =>
      request('POST', '/apply', { token: as, body: { document, dry_run } })
    const refused = await apply(developer.token, false)
    assert.equal(refused.status, 403, refused.text)
    assert.match(refused.text, /credential:run/)
    assert.equal((await apply(developer.token, true)).status, 403)
    const stored = await request('GET', `/applications/${tree.applicationId}`, { token })
    assert.equal(stored.body.repository, 'https://github.com/acme/shop.git')
    const applied = await apply(token, false)
    assert.equal(applied.status, 200, applied.text)
    assert.equal((await change({ repository: 'https://github.com/acme/shop' })).status, 403)
  })

  test('requires it in the organization: a role in the environment alone is not enough', async () => {
    const { tree, change } = await open()
    assert.equal((await addHook(tree, { ...STATUS, credential_id: await addCredential(tree) })).status, 201)
    const local = await createPerson(db)
    const { organizationId, projectId, environmentId } = tree
    await grantRole(db, local.id, 'admin', { organizationId, projectId, environmentId })
    const answer = await change({ repository: 'https://github.com/acme/other' }, local.token)
    assert.equal(answer.status, 403, answer.text)
  })
})

suite('a preset that reports on commits', () => {
  const save = async (
    repository: string,
    credential: object,
    preset: object,
    source: number | null = null,
  ) => {
    const tree = await createTestTree(db)
    await setRepository(tree, repository, source)
    const credential_id = await addCredential(tree, credential)
    return { tree, credential_id, answer: await addHook(tree, { credential_id, settings: { preset } }) }
  }
  const GITHUB = { provider_code: 'github' }
  const GITEA = { provider_code: 'gitea', base_url: 'https://git.example.com:3000/forge' }

  test('is for repositories at the host of its credential', async () => {
    const fits: [repository: string, credential: object, kind: string][] = [
      ['https://github.com/acme/shop.git', GITHUB, 'github_status'],
      ['https://GITHUB.com./acme/shop.git', GITHUB, 'github_status'],
      ['git@github.com:acme/shop.git', GITHUB, 'github_deployment'],
      ['ssh://git@ssh.github.com:443/acme/shop.git', GITHUB, 'github_status'],
      ['https://github.com/acme/shop', { ...GITHUB, base_url: 'https://api.github.com' }, 'github_status'],
      ['https://acme.ghe.com/a/b', { ...GITHUB, base_url: 'https://api.acme.ghe.com' }, 'github_status'],
      ['git@altssh.gitlab.com:acme/shop.git', { provider_code: 'gitlab' }, 'gitlab_status'],
      ['https://git.example.com:3000/forge/acme/shop.git', GITEA, 'gitea_status'],
      ['ssh://git@git.example.com:2222/acme/shop.git', GITEA, 'gitea_status'],
      ['git@code.example.com:acme/shop.git', { ...GITEA, ssh_hosts: ['Code.Example.com.'] }, 'gitea_status'],
      ['https://mirror.example:8443/a/b', { ...GITHUB, ssh_hosts: ['mirror.example:8443'] }, 'github_status'],
      ['https://mirror.example:8443/a/b', { ...GITHUB, ssh_hosts: ['mirror.example'] }, 'github_status'],
      ['ssh://git@[fd00::1]/a/b', { ...GITHUB, ssh_hosts: ['[fd00::1]'] }, 'github_status'],
    ]
    for (const [repository, credential, kind] of fits) {
      const { answer } = await save(repository, credential, { kind })
      assert.equal(answer.status, 201, `${repository}: ${answer.text}`)
    }
  })

  test('is rejected for others, and the answer names both hosts', async () => {
    const unfit: [repository: string, credential: object, kind: string][] = [
      ['https://git.evil.example/acme/shop.git', GITHUB, 'github_status'],
      ['git@git.evil.example:acme/shop.git', GITHUB, 'github_deployment'],
      ['https://github.com.evil.example/acme/shop', GITHUB, 'github_status'],
      ['https://github.com:8443/acme/shop', GITHUB, 'github_status'],
      ['git@altssh.gitlab.com:acme/shop.git', GITHUB, 'github_status'],
      [
        'https://gitlab.com/acme/shop.git',
        { provider_code: 'gitlab', base_url: 'https://git.example.com' },
        'gitlab_status',
      ],
      ['https://git.example.com/forge/acme/shop.git', GITEA, 'gitea_status'],
      ['https://mirror.example:8443/a/b', { ...GITHUB, ssh_hosts: ['mirror.example:443'] }, 'github_status'],
      ['file:///srv/acme/shop', GITHUB, 'github_status'],
    ]
    for (const [repository, credential, kind] of unfit) {
      const { answer } = await save(repository, credential, { kind })
      assert.equal(answer.status, 422, `${repository}: ${answer.text}`)
      assert.match(answer.body.errors['settings.preset'][0], /repository/)
    }
    const { answer } = await save('https://git.evil.example/acme/shop.git', GITHUB, { kind: 'github_status' })
    assert.match(answer.body.errors['settings.preset'][0], /git\.evil\.example.*github\.com.*ssh_hosts/)
  })

  test('that names its project is for any repository', async () => {
    const { answer } = await save(
      'https://git.evil.example/acme/shop.git',
      { provider_code: 'gitlab' },
      { kind: 'gitlab_status', project: 'acme/shop' },
    )
    assert.equal(answer.status, 201, answer.text)
  })

  test('can be renamed and switched off when the repository has moved, and saved again when it is back', async () => {
    const { tree, answer } = await save('https://github.com/acme/shop', GITHUB, { kind: 'github_status' })
    const { token } = tree.owner
    const change = (body: object) => request('PUT', `/hooks/outgoing/${answer.body.id}`, { token, body })
    await setRepository(tree, 'https://git.example.com/acme/shop')
    assert.equal((await change({ name: 'Renamed' })).status, 200)
    assert.equal((await change({ active: false })).status, 200)
    assert.equal(
      (await change({ settings: { preset: { kind: 'github_status', context: 'x' } } })).status,
      422,
    )
    const ejected = await request('POST', `/hooks/outgoing/${answer.body.id}/eject`, { token })
    assert.equal(ejected.status, 409, ejected.text)
    assert.match(ejected.body.message, /git\.example\.com/)
    await setRepository(tree, 'https://github.com/acme/shop')
    assert.equal((await request('POST', `/hooks/outgoing/${answer.body.id}/eject`, { token })).status, 200)
  })

  test('has the host of the credential that the application is fetched with, if the address is short', async () => {
    const tree = await createTestTree(db)
    const gitlab = await addCredential(tree, { provider_code: 'gitlab' })
    await setRepository(tree, 'acme/shop', gitlab)
    const own = await addCredential(tree)
    const unfit = await addHook(tree, { ...STATUS, credential_id: own })
    assert.match(unfit.body.errors['settings.preset'][0], /gitlab\.com.*github\.com/)
    await setRepository(tree, 'acme/shop', tree.credentialId)
    assert.equal((await addHook(tree, { ...STATUS, credential_id: own })).status, 201)
  })
})

suite('ssh_hosts of a credential', () => {
  test('are stored in one spelling, shown, replaced as a whole and audited', async () => {
    const tree = await createTestTree(db)
    const { token } = tree.owner
    const id = await addCredential(tree, {
      ssh_hosts: ['SSH.example.com', 'a.example:22', 'ssh.example.com.'],
    })
    const read = async () => (await request('GET', `/credentials/${id}`, { token })).body.ssh_hosts
    assert.deepEqual(await read(), ['a.example:22', 'ssh.example.com'])
    const change = (body: object) => request('PUT', `/credentials/${id}`, { token, body })
    assert.equal((await change({ name: 'Other' })).status, 200)
    assert.deepEqual(await read(), ['a.example:22', 'ssh.example.com'])
    assert.equal((await change({ ssh_hosts: [] })).status, 200)
    assert.deepEqual(await read(), [])
    const { body } = await request('GET', `/organizations/${tree.organizationId}/audit`, { token })
    assert.deepEqual(body[0].before.ssh_hosts, ['a.example:22', 'ssh.example.com'])
    assert.deepEqual(body[0].after.ssh_hosts, [])
  })

  test('must be hosts, and belong to a provider whose commits presets report on', async () => {
    const tree = await createTestTree(db)
    const url = `/organizations/${tree.organizationId}/credentials`
    const save = (body: object) =>
      request('POST', url, {
        token: tree.owner.token,
        body: { name: 'New', provider_code: 'github', ...body },
      })
    for (const host of [
      '',
      'https://x.example',
      'x.example/path',
      'user@x',
      '*.example',
      'x:99999',
      'x:0',
      'a b',
    ]) {
      const answer = await save({ ssh_hosts: [host] })
      assert.equal(answer.status, 422, host)
      assert.deepEqual(Object.keys(answer.body.errors), ['ssh_hosts.0'])
    }
    assert.equal(
      (await save({ ssh_hosts: Array.from({ length: 21 }, (_, n) => `h${n}.example`) })).status,
      422,
    )
    const git = { provider_code: 'git', base_url: 'https://git.example.com', ssh_hosts: ['a.example'] }
    assert.deepEqual(Object.keys((await save(git)).body.errors), ['ssh_hosts'])
    assert.equal((await save({ ...git, ssh_hosts: [] })).status, 201)
  })
})
