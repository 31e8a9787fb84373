import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { SENDERS } from '#manage/catalog/senders.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { signatureMisfit } from './fit.ts'
import { HOST_PROVIDERS, HOSTS } from './hosts.ts'
import { locateRepository } from './locate-repository.ts'
import { callsHook, ownWebhooks } from './own-webhooks.ts'

for (const provider of [...HOST_PROVIDERS, 'forgejo' as const]) {
  test(`the hook that the catalog has for ${provider} can be connected, with its events`, () => {
    const { hook, events } = SENDERS.find(({ code }) => code === provider)!
    const host = provider === 'forgejo' ? 'gitea' : provider
    const misfit = signatureMisfit(host, {
      requires_secret: hook.requires_secret!,
      secret_algorithm: hook.secret_algorithm ?? 'sha256',
      secret_header_name: hook.secret_header_name!,
      scheme: hook.settings?.signature?.scheme ?? 'body',
    })
    assert.equal(misfit, undefined)
    assert.deepEqual(
      events.map((event) => event.toLowerCase().replaceAll(' ', '_')),
      HOSTS[host].defaultEvents,
    )
  })
}

suite('the repository of an application is found at its host', () => {
  const at = (provider: string, baseUrl: string | null, repository: string) =>
    locateRepository(repository, { provider, baseUrl, hasToken: true })

  test('at public hosts, at servers of an organization, and below a folder', () => {
    assert.deepEqual(at('github', null, 'https://github.com/acme/shop.git'), {
      provider: 'github',
      apiUrl: 'https://api.github.com',
      homeUrl: 'https://github.com',
      path: 'acme/shop',
    })
    assert.deepEqual(at('github', 'https://git.example.com', 'https://git.example.com/acme/shop'), {
      provider: 'github',
      apiUrl: 'https://git.example.com/api/v3',
      homeUrl: 'https://git.example.com',
      path: 'acme/shop',
    })
    assert.deepEqual(at('gitlab', 'https://example.com/gitlab', 'https://example.com/gitlab/a/b/shop.git'), {
      provider: 'gitlab',
      apiUrl: 'https://example.com/gitlab/api/v4',
      homeUrl: 'https://example.com/gitlab',
      path: 'a/b/shop',
    })
    assert.deepEqual(at('gitea', 'http://git.local:3000', 'acme/shop'), {
      provider: 'gitea',
      apiUrl: 'http://git.local:3000/api/v1',
      homeUrl: 'http://git.local:3000',
      path: 'acme/shop',
    })
  })

  test('and nowhere else: a token goes to its own host', () => {
    for (const address of [
      'https://gitlab.com/acme/shop',
      'git@github.com:acme/shop.git',
      'https://github.com/shop',
    ])
      assert.ok('problem' in at('github', null, address), address)
    assert.ok('problem' in locateRepository('https://github.com/acme/shop', null))
    assert.ok('problem' in at('bitbucket', null, 'https://bitbucket.org/acme/shop'))
  })
})

test('a webhook is ours by the secret part of its URL, whatever the base URL was', () => {
  const own = { hookId: '0199a000-0000-7000-8000-000000000000', tokenHash: hashToken('our-token') }
  for (const url of [
    'https://gantry.example.com/hooks/our-token/trigger',
    'http://10.0.0.1:7070/below/hooks/our-token/trigger',
    `https://gantry.example.com/hooks/${own.hookId.toUpperCase()}/trigger`,
  ])
    assert.ok(callsHook(url, own), url)
  for (const url of [
    'https://gantry.example.com/hooks/another-token/trigger',
    'https://gantry.example.com/hooks/our-token/trigger/more',
    'https://example.com/?next=our-token',
    'no address',
  ])
    assert.ok(!callsHook(url, own), url)
  const webhook = { active: true, events: [], verifiesTls: true, isReadable: true, isSuspended: false }
  const rest = { ...webhook, disabledUntil: null, kept: {} }
  const [url, other] = ['https://a.example.com/hooks/our-token/trigger', 'https://b.example.com']
  const listed = [
    { ...rest, id: '10', url },
    { ...rest, id: '9', url },
    { ...rest, id: '3', url: other },
    { ...rest, id: '2', url: other },
  ]
  assert.deepEqual(
    ownWebhooks(listed, { ...own, webhookId: '3' }).map(({ id }) => id),
    ['3', '9', '10'],
  )
})
