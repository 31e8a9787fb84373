import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAddress } from './address.ts'
import { linkCommit } from './commit-links.ts'

const HASH = '1f0c5e7a9b3d4c2e8f6a7b5c4d3e2f1a0b9c8d7e'

const linksOf = (repository: string, code?: string, baseUrl?: string) => {
  const provider = code === undefined ? null : { code, baseUrl: baseUrl ?? null }
  const read = readAddress(repository, provider)
  return read.kind === 'remote' ? linkCommit(read.remote, provider, HASH) : assert.fail(read.message)
}

const github = {
  url: `https://github.com/acme/shop/commit/${HASH}`,
  clone_url: 'https://github.com/acme/shop.git',
  download_url: `https://github.com/acme/shop/archive/${HASH}.tar.gz`,
}

for (const repository of [
  'https://github.com/acme/shop',
  'https://github.com/acme/shop.git',
  'https://github.com/acme/shop/',
  'https://zoe@github.com/acme/shop.git',
  'git@github.com:acme/shop.git',
  'git@github.com:acme/shop',
  'git@github.com:/acme/shop.git',
  'ssh://git@github.com/acme/shop.git',
  'ssh://git@ssh.github.com:443/acme/shop.git',
]) {
  test(`a commit of ${repository} is found on GitHub`, () => assert.deepEqual(linksOf(repository), github))
}

test('short forms and credentials lead to the same pages', () => {
  assert.deepEqual(linksOf('acme/shop', 'github'), github)
  assert.deepEqual(linksOf('git@github.com:acme/shop.git', 'ssh'), github)
})

test('GitLab: groups in groups, and its own way of writing addresses', () => {
  assert.deepEqual(linksOf('git@gitlab.com:acme/web/shop.git'), {
    url: `https://gitlab.com/acme/web/shop/-/commit/${HASH}`,
    clone_url: 'https://gitlab.com/acme/web/shop.git',
    download_url: `https://gitlab.com/acme/web/shop/-/archive/${HASH}/shop-${HASH}.tar.gz`,
  })
  assert.equal(
    linksOf('https://gitlab.example.com:8443/acme/shop').url,
    `https://gitlab.example.com:8443/acme/shop/-/commit/${HASH}`,
  )
  assert.equal(
    linksOf('https://code.example.com/a/b', 'gitlab').url,
    `https://code.example.com/a/b/-/commit/${HASH}`,
  )
})

test('Bitbucket: only the public one has these pages', () => {
  assert.deepEqual(linksOf('git@bitbucket.org:acme/shop.git'), {
    url: `https://bitbucket.org/acme/shop/commits/${HASH}`,
    clone_url: 'https://bitbucket.org/acme/shop.git',
    download_url: `https://bitbucket.org/acme/shop/get/${HASH}.tar.gz`,
  })
  assert.equal(linksOf('https://bitbucket.example.com/scm/a/b.git', 'bitbucket').url, null)
})

test('Gitea and Forgejo: by name, by credential, below a folder, over http', () => {
  assert.equal(linksOf('https://codeberg.org/acme/shop').url, `https://codeberg.org/acme/shop/commit/${HASH}`)
  assert.equal(
    linksOf('ssh://git@forgejo.example.com:2222/a/b').url,
    `https://forgejo.example.com/a/b/commit/${HASH}`,
  )
  assert.deepEqual(linksOf('acme/shop', 'gitea', 'http://git.example.com:3000/code'), {
    url: `http://git.example.com:3000/code/acme/shop/commit/${HASH}`,
    clone_url: 'http://git.example.com:3000/code/acme/shop.git',
    download_url: `http://git.example.com:3000/code/acme/shop/archive/${HASH}.tar.gz`,
  })
})

test('any other git server has no pages, and a folder of this machine is no address for others', () => {
  const none = { url: null, download_url: null }
  const plain = 'https://code.example.com/shop.git'
  assert.deepEqual(linksOf(plain), { ...none, clone_url: plain })
  assert.deepEqual(linksOf('git@code.example.com:a/b.git'), {
    ...none,
    clone_url: 'git@code.example.com:a/b.git',
  })
  assert.deepEqual(linksOf('https://github.com/shop'), { ...none, clone_url: 'https://github.com/shop' })
  assert.deepEqual(linksOf('file:///srv/github.com/acme/shop.git'), { ...none, clone_url: null })
})

test('a path with odd characters gives an address that can be clicked', () => {
  assert.equal(linksOf('git@github.com:acme/my shop.git').clone_url, 'https://github.com/acme/my%20shop.git')
  assert.equal(
    linksOf('https://github.com/acme/my%20shop').clone_url,
    'https://github.com/acme/my%20shop.git',
  )
})
