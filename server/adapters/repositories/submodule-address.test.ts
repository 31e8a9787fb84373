import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeRepository } from '#test/support/repository.ts'
import { type Remote, readAddress } from './address.ts'
import { hostOf, loginFor, readSubmoduleUrl } from './submodule-address.ts'

const WEB = 'https://git.example.com/acme/shop.git'

function remoteOf(address: string): Remote {
  const read = readAddress(address)
  assert.ok(read.kind === 'remote', address)
  return read.remote
}

/** The address, or the reason in capitals. */
function addressOf(url: string, parent: string, own = parent): string {
  const read = readSubmoduleUrl(url, remoteOf(parent), remoteOf(own))
  return read.kind === 'remote' ? read.remote.address : `REFUSED ${read.message}`
}

const relative: [parent: string, url: string, expected: string][] = [
  [WEB, '../lib.git', 'https://git.example.com/acme/lib.git'],
  [WEB, '../../tools/lib.git', 'https://git.example.com/tools/lib.git'],
  [WEB, './lib', 'https://git.example.com/acme/shop.git/lib'],
  [WEB, './', 'https://git.example.com/acme/shop.git'],
  [WEB, './../lib.git/', 'https://git.example.com/acme/lib.git'],
  [`${WEB}/`, '../lib.git', 'https://git.example.com/acme/lib.git'],
  ['https://git.example.com:8443/a/b/shop', '../lib', 'https://git.example.com:8443/a/b/lib'],
  ['git@git.example.com:acme/shop.git', '../lib.git', 'git@git.example.com:acme/lib.git'],
  ['git@git.example.com:acme/shop.git', './lib', 'git@git.example.com:acme/shop.git/lib'],
  ['git@git.example.com:acme/shop.git', '../../tools/lib.git', 'git@git.example.com:tools/lib.git'],
  ['git@git.example.com:/srv/shop.git', '../lib.git', 'git@git.example.com:/srv/lib.git'],
  [
    'ssh://git@git.example.com:2222/acme/shop.git',
    '../lib.git',
    'ssh://git@git.example.com:2222/acme/lib.git',
  ],
]

test('relative URLs are resolved as git does it', async (t) => {
  const { folder, git } = await makeRepository(t)
  const tree = join(folder, '..', 'tree')
  await mkdir(tree)
  const inTree = (...args: string[]) => git(['--work-tree', tree, '-C', tree, ...args])
  await git(['config', 'core.bare', 'false'])
  await inTree('update-index', '--add', '--cacheinfo', `160000,${'a'.repeat(40)},lib`)
  for (const [parent, url, expected] of relative) {
    await writeFile(join(tree, '.gitmodules'), `[submodule "lib"]\n\tpath = lib\n\turl = ${url}\n`)
    await git(['config', 'remote.origin.url', parent])
    await git(['config', '--remove-section', 'submodule.lib']).catch(() => {})
    await inTree('submodule', 'init')
    const found = await git(['config', 'submodule.lib.url'])
    assert.equal(found.replace(/\/$/, ''), expected, `git: ${parent} ${url}`)
    assert.equal(addressOf(url, parent), expected, `${parent} ${url}`)
  }
})

test('relative URLs stay on their host', () => {
  const refused = 'REFUSED Its relative URL leads out of git.example.com.'
  for (const url of ['../../../x', '../../../../evil.example/x', '../a/../../x', '../..', './..'])
    assert.equal(addressOf(url, WEB), refused, url)
  assert.equal(addressOf('../../../evil.example:x', 'git@git.example.com:acme/shop.git'), refused)
  assert.match(
    addressOf('../x', 'file:///srv/git/shop.git'),
    /^REFUSED Its URL is relative to a folder on the machine/,
  )
})

test('https and ssh are accepted; http only where the repository is fetched over http', () => {
  for (const url of [
    'https://other.example/lib.git',
    'ssh://git@other.example/lib.git',
    'git@other.example:lib.git',
  ])
    assert.equal(addressOf(url, WEB), url)
  assert.match(addressOf('http://git.example.com/lib.git', WEB), /^REFUSED Its URL begins with http:/)
  const plain = 'http://git.example.com/lib.git'
  assert.equal(addressOf(plain, WEB, 'http://git.example.com/shop.git'), plain)
  assert.match(addressOf('../lib.git', plain, WEB), /^REFUSED Its URL begins with http:/)
})

test('everything else is refused without repeating what may be a secret', () => {
  const only = 'REFUSED Submodules are fetched over https and ssh only.'
  for (const url of [
    'file:///srv/git/lib.git',
    '/srv/git/lib.git',
    'lib.git',
    'acme/lib',
    '..',
    'git://git.example.com/lib.git',
    'ext::sh -c evil',
    '-uevil',
    '-oProxyCommand=evil:x',
    '',
    ' ',
    '~/lib.git',
    'x\ny:z',
  ])
    assert.equal(addressOf(url, WEB), only, url)
  assert.doesNotMatch(addressOf('https://zoe:s3cret@git.example.com/x', WEB), /s3cret/)
})

const token = { secret: 's3cret' }
const login = { token, sshKey: 'key' }

test('the login goes to the host of the repository only: same protocol, name and port', () => {
  const own = remoteOf(WEB)
  const loginOf = (url: string, from = own) => loginFor(remoteOf(url), from, login)
  assert.deepEqual(loginOf('https://GIT.example.com/other.git'), { kind: 'login', login })
  const none = { kind: 'login', login: { token: null, sshKey: null } }
  for (const url of [
    'https://git.example.com:8443/x.git',
    'http://git.example.com/x.git',
    'https://git.example.com.evil.example/x.git',
    'https://example.com/x.git',
    'https://git.example.com./x.git',
  ])
    assert.deepEqual(loginOf(url), none, url)
  const ssh = remoteOf('git@git.example.com:acme/shop.git')
  assert.deepEqual(loginOf('ssh://other@git.example.com:22/x.git', ssh), { kind: 'login', login })
  assert.deepEqual(loginOf('https://git.example.com/x.git', ssh), none)
  for (const url of ['ssh://git@git.example.com:2222/x.git', 'git@other.example:x.git'])
    assert.equal(loginOf(url, ssh).kind, 'refused', url)
  assert.equal(loginOf('git@git.example.com:x.git').kind, 'refused')
})

test('a host is named with its port, unless that is the usual one', () => {
  const named = [
    'https://a.example/x',
    'https://a.example:8443/x',
    'ssh://a.example:22/x',
    'ssh://[::1]:2222/x',
    'file:///x',
  ]
  assert.deepEqual(
    named.map((address) => hostOf(remoteOf(address))),
    ['a.example', 'a.example:8443', 'a.example', '[::1]:2222', 'this machine'],
  )
})
