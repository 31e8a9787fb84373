import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Provider, readAddress } from './address.ts'

const remoteOf = (text: string, provider?: Provider) => {
  const read = readAddress(text, provider)
  assert.equal(read.kind, 'remote', `${text} was rejected`)
  return read.kind === 'remote' ? read.remote : assert.fail()
}

const accepted: [
  text: string,
  protocol: string,
  host: string | null,
  port: number | null,
  address: string,
][] = [
  ['https://github.com/acme/shop', 'https', 'github.com', 443, 'https://github.com/acme/shop'],
  [' https://GitHub.com/acme/shop.git ', 'https', 'github.com', 443, 'https://github.com/acme/shop.git'],
  ['https://git.example.com:8443/a/b', 'https', 'git.example.com', 8443, 'https://git.example.com:8443/a/b'],
  ['http://[::1]:3000/a/b.git', 'http', '::1', 3000, 'http://[::1]:3000/a/b.git'],
  ['http://0x7f.1/a/b', 'http', '127.0.0.1', 80, 'http://127.0.0.1/a/b'],
  ['https://h.example/a/../b/c', 'https', 'h.example', 443, 'https://h.example/b/c'],
  ['ssh://git@h.example:2222/a/b.git', 'ssh', 'h.example', 2222, 'ssh://git@h.example:2222/a/b.git'],
  ['ssh://h.example/~zoe/b.git', 'ssh', 'h.example', 22, 'ssh://h.example/~zoe/b.git'],
  ['git@github.com:acme/shop.git', 'ssh', 'github.com', 22, 'git@github.com:acme/shop.git'],
  ['git@[::1]:acme/shop.git', 'ssh', '::1', 22, 'git@[::1]:acme/shop.git'],
  ['h.example:/srv/git/shop.git', 'ssh', 'h.example', 22, 'h.example:/srv/git/shop.git'],
  ['file:///srv/git/my%20shop.git', 'file', null, null, 'file:///srv/git/my%20shop.git'],
]

for (const [text, protocol, host, port, address] of accepted) {
  test(`${text} is read as ${protocol}, host ${host}, port ${port}`, () => {
    const remote = remoteOf(text)
    assert.deepEqual(
      [remote.protocol, remote.host, remote.port, remote.address],
      [protocol, host, port, address],
    )
  })
}

const refused = [
  '',
  '   ',
  '-oProxyCommand=touch x',
  '--upload-pack=touch x',
  'ext::sh -c touch% x',
  'fd::17',
  'git://github.com/acme/shop',
  'ftp://h.example/a/b',
  'git+ssh://h.example/a/b',
  'https://',
  'https://h.example',
  'https://h.example/',
  'https://h.example/a?b=c',
  'https://h.example/a#b',
  'https://h.example/a\nb',
  'https://h.example/%00',
  'https://h.example/a%0ab',
  'https://h.example/%ff',
  'https://h.example\\@other.example/a',
  'https://zoe\\@other.example/a',
  'https://-h.example/a',
  'https://h.example:99999/a',
  'https://zoe:secret@h.example/a/b',
  'https://:secret@h.example/a/b',
  'ssh://-oProxyCommand=x/a',
  'ssh://git@-oProxyCommand=x/a',
  'ssh://-x@h.example/a',
  'ssh://git:secret@h.example/a',
  'ssh://h.example:0/a',
  'ssh://h.example/',
  'ssh://h.example/a%0ab',
  "ssh://h.example/a'b",
  'git@h.example:-x',
  'git@h.example:',
  'git@h.example:/',
  '-git@h.example:a',
  'git@-h.example:a',
  'git@h.example:a$(touch x)\n',
  'git@h.example:`touch x`',
  'file://other.example/srv/git',
  'file:///',
  'file:relative',
  'file:///srv/a?b',
  'file:///srv/%00',
  '/srv/git/shop.git',
  '../shop',
  'acme/shop',
  'shop',
  `https://h.example/${'a'.repeat(3_000)}`,
]

for (const text of refused) {
  test(`${JSON.stringify(text.slice(0, 60))} is rejected`, () => {
    const read = readAddress(text)
    assert.equal(read.kind, 'refused')
    assert.match(read.kind === 'refused' ? read.message : '', /^The .*\.$/)
  })
}

test('a password in an address is rejected without being repeated', () => {
  const read = readAddress('https://zoe:hunter2@h.example/a/b')
  assert.match(JSON.stringify(read), /credential/)
  assert.doesNotMatch(JSON.stringify(read), /hunter2/)
})

test('a name before the host is passed to the credential and left out of what git and people see', () => {
  const remote = remoteOf('https://ghp_s3cret@github.com/acme/shop.git')
  assert.equal(remote.username, 'ghp_s3cret')
  assert.equal(remote.address, 'https://github.com/acme/shop.git')
})

test('owner and name are enough when the credential names the host', () => {
  assert.equal(remoteOf('acme/shop', { code: 'github' }).address, 'https://github.com/acme/shop.git')
  assert.equal(
    remoteOf('acme/web/shop.git', { code: 'gitlab' }).address,
    'https://gitlab.com/acme/web/shop.git',
  )
  const own = { code: 'gitea', baseUrl: 'http://git.example.com:3000/code/' }
  assert.equal(remoteOf('acme/shop', own).address, 'http://git.example.com:3000/code/acme/shop.git')
  for (const text of ['acme/..', './shop', '/acme/shop', 'acme//shop', 'acme/sh op', 'shop', '-x/y?z']) {
    assert.equal(readAddress(text, { code: 'github' }).kind, 'refused', text)
  }
  assert.equal(readAddress('acme/shop', { code: 'git' }).kind, 'refused')
})

test('whatever the text is, an address that passes begins with its protocol and holds no control character', () => {
  const starts = fc.constantFrom('https://', 'http://h/', 'ssh://', 'git@h:', 'file:///', 'h:', '-', '')
  const nasty = fc.string({ unit: fc.constantFrom(...'ab.-:/@%20[]?#\\\'"`$ \n\0\x7fé\u202e') })
  fc.assert(
    fc.property(starts, nasty, fc.string(), (start, one, two) => {
      for (const text of [start + one, start + two, `${start}a@${one}`]) {
        const read = readAddress(text)
        if (read.kind === 'refused') continue
        assert.match(read.remote.address, /^(https?:\/\/|ssh:\/\/|file:\/\/\/|[a-z0-9_[][^\0-\x1f\s]*:)/i)
        assert.doesNotMatch(read.remote.address, /[\0-\x1f\x7f"`\\]/)
      }
    }),
  )
})
