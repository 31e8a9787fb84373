import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRepository } from './load-resources.ts'

const addresses: [string, string | null, string | null][] = [
  ['acme/shop', 'acme', 'shop'],
  ['https://github.com/acme/shop.git', 'acme', 'shop'],
  ['https://github.com/acme/shop', 'acme', 'shop'],
  ['https://github.com/acme/shop.git/', 'acme', 'shop'],
  ['HTTPS://user:token@github.com/acme/shop.git', 'acme', 'shop'],
  ['https://gitlab.com/group/subgroup/shop.git', 'subgroup', 'shop'],
  ['ssh://git@host.example.com:2222/acme/shop.git', 'acme', 'shop'],
  ['git@github.com:acme/shop.git', 'acme', 'shop'],
  ['github.com:acme/shop.git', 'acme', 'shop'],
  ['git@[2001:db8::1]:acme/shop.git', 'acme', 'shop'],
  ['git@host.example.com:/srv/git/shop.git', 'git', 'shop'],
  ['git@host.example.com:shop.git', null, 'shop'],
  ['file:///srv/git/shop.git', 'git', 'shop'],
  ['/srv/git/shop.git', 'git', 'shop'],
  ['shop', null, 'shop'],
  ['acme/shop.js', 'acme', 'shop.js'],
  ['acme/my.github.io', 'acme', 'my.github.io'],
  ['https://host.example.com', null, null],
  ['https://host.example.com/', null, null],
  ['.git', null, null],
  ['', null, null],
]

for (const [address, owner, name] of addresses) {
  test(`the repository ${JSON.stringify(address)} is ${name} of ${owner}`, () => {
    assert.deepEqual(parseRepository(address), { owner, name })
  })
}
