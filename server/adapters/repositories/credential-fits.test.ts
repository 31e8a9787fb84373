import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { makeRepository } from '#test/support/repository.ts'
import { credentialFits } from './credential-fits.ts'
import { openRepositories } from './fixtures.ts'
import { probeRepository } from './probe.ts'
import { serveGit } from './test-git-server.ts'

const fits = (code: string, baseUrl: string | null, repository: string) =>
  credentialFits(code, baseUrl, repository).kind === 'fits'

test('a token fits the repositories of its own host, and no others', () => {
  const own = 'https://git.example.com'
  assert.ok(fits('github', null, 'https://github.com/acme/shop'))
  assert.ok(fits('github', null, 'acme/shop'))
  assert.ok(fits('gitlab', null, 'https://gitlab.com/acme/shop.git'))
  assert.ok(fits('bitbucket', null, 'https://zoe@bitbucket.org/acme/shop.git'))
  assert.ok(fits('gitea', own, `${own}/acme/shop.git`))
  assert.ok(fits('git', `${own}/below`, `${own}:443/acme/shop.git`))
  assert.ok(fits('github', own, `${own}/acme/shop.git`))
  const elsewhere: [string, string | null, string][] = [
    ['github', null, 'https://github.com.evil.example/acme/shop'],
    ['github', null, 'https://gitlab.com/acme/shop'],
    ['github', null, 'http://github.com/acme/shop'],
    ['github', null, 'https://github.com:8443/acme/shop'],
    ['github', own, 'https://github.com/acme/shop'],
    ['gitea', own, 'https://evil.example/acme/shop'],
    ['git', null, 'https://evil.example/acme/shop'],
  ]
  for (const request of elsewhere) assert.ok(!fits(...request), request.join(' '))
})

test('tokens open web addresses, keys open SSH addresses, and files need neither', () => {
  assert.ok(fits('ssh', null, 'git@anywhere.example:acme/shop.git'))
  assert.ok(!fits('ssh', null, 'https://github.com/acme/shop'))
  assert.ok(!fits('github', null, 'git@github.com:acme/shop.git'))
  for (const code of ['ssh', 'github']) assert.ok(!fits(code, null, 'file:///srv/shop.git'))
  assert.ok(!fits('github', null, 'ext::sh -c id'))
})

test('a token is not sent to another host than its own, whatever the repository of an application says', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const seen: (string | undefined)[] = []
  const thief = await serveGit(t, {
    folder: dirname(repository.folder),
    before: (request) => {
      seen.push(request.headers.authorization)
      return false
    },
  })
  const gantry = await openRepositories(t)
  const request = { repository: `${thief.url}/shop.git`, token: { secret: 'ghp_secret' } }
  const refused = await gantry.hashOf({ ...request, provider: { code: 'github' } })
  assert.match(refused, /^FAILED The credential is for https:\/\/github\.com, not for http:\/\/127/)
  assert.deepEqual(seen, [])
  const own = await gantry.hashOf({ ...request, provider: { code: 'git', baseUrl: thief.url } })
  assert.equal(own, await repository.git(['rev-parse', 'main']))
})

test('a probe counts branches and tags, and says why it could not', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  await repository.git(['tag', 'v1'])
  const password = { username: 'zoe', secret: 's3cret' }
  const server = await serveGit(t, { folder: dirname(repository.folder), password })
  const probe = (token: typeof password, path = '/shop.git') =>
    probeRepository({
      repository: `${server.url}${path}`,
      provider: { code: 'git', baseUrl: server.url },
      token,
      sshKey: null,
      allowRemote: async () => ({ kind: 'allowed', addresses: ['127.0.0.1'] }),
      withinMs: 20_000,
    })
  assert.deepEqual(await probe(password), { kind: 'opened', references: 2 })
  const wrong = await probe({ ...password, secret: 'wrong' })
  assert.match(wrong.kind === 'closed' ? wrong.message : '', /does not accept the credential/)
  const absent = await probe(password, '/nothing.git')
  assert.match(absent.kind === 'closed' ? absent.message : '', /There is no repository/)
})
