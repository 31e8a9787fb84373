import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeRepository, type TestRepository } from '#test/support/repository.ts'
import { asRoot, openRepositories } from './fixtures.ts'

const files = { 'index.html': 'hello' }

test('a branch is resolved to the commit that it points to now, with everything an action shows of it', async (t) => {
  const repository = await makeRepository(t, { name: 'my shop' })
  const gantry = await openRepositories(t)
  const author = { name: 'Łukasz "Luk"', email: 'luk@example.com' }
  const message = 'Sell more\n\nMuch more'
  const hash = await repository.commit(files, { message, author, time: 1_793_516_400 })
  assert.deepEqual(await gantry.take({ repository: repository.address }), {
    kind: 'resolved',
    submodules: [],
    commit: {
      repository: repository.address,
      author_name: author.name,
      author_email: author.email,
      committed_at: '2026-11-01T07:00:00.000Z',
      hash,
      message,
      url: null,
      clone_url: null,
      download_url: null,
    },
  })
  assert.deepEqual(gantry.lines, [
    `Fetching ${repository.address}`,
    `branch main is at ${hash.slice(0, 8)}: Sell more`,
  ])
  const next = await repository.commit(files)
  assert.equal(await gantry.hashOf({ repository: repository.address }), next)
})

test('requests that were waiting when a fetch began share it; a later one fetches again', async (t) => {
  const repository = await makeRepository(t)
  const hash = await repository.commit(files)
  const gantry = await openRepositories(t)
  const at = (since: number, now: number) =>
    gantry.hashOf({ repository: repository.address, asked: { since, now } })
  const fetches = () => gantry.lines.filter((line) => line.startsWith('Fetching')).length
  assert.equal(await at(1, 10), hash)
  const next = await repository.commit(files)
  assert.equal(await at(9, 20), hash)
  assert.equal(fetches(), 1)
  assert.equal(await at(10, 30), next)
  assert.equal(fetches(), 2)
  // Without it, what the repository has now counts; a ref that is missing is always looked for there.
  const last = await repository.commit(files)
  assert.equal(await gantry.hashOf({ repository: repository.address }), last)
  await repository.commit(files, { branch: 'new' })
  const source = { type: 'branch' as const, ref: 'new' }
  const found = await gantry.take({ repository: repository.address, source, asked: { since: 1, now: 40 } })
  assert.equal(found.kind, 'resolved')
})

test('a fetch from another repository is not shared', async (t) => {
  const [one, other] = [await makeRepository(t), await makeRepository(t)]
  await one.commit(files)
  const hash = await other.commit({ ...files, other: 'yes' })
  const gantry = await openRepositories(t)
  await gantry.hashOf({ repository: one.address, asked: { since: 1, now: 10 } })
  assert.equal(await gantry.hashOf({ repository: other.address, asked: { since: 9, now: 20 } }), hash)
})

test('tags are resolved to their commit, annotated ones and tags of tags too', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  await repository.tag('v1', hash)
  await repository.tag('v2', hash, 'The second')
  await repository.tag('v3', 'v2', 'A tag of a tag')
  await repository.tag('tree', `${hash}^{tree}`)
  const tagged = (ref: string) =>
    gantry.hashOf({ repository: repository.address, source: { type: 'tag', ref } })
  assert.deepEqual([await tagged('v1'), await tagged('v2'), await tagged('v3')], [hash, hash, hash])
  assert.equal(await tagged('tree'), 'NOT-FOUND The tag "tree" does not point to a commit.')
  assert.equal(await tagged('main'), 'NOT-FOUND The repository has no tag "main".')
})

test('a branch is never taken for a tag, nor a tag for a branch or a commit', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const other = await repository.commit(files, { branch: 'other' })
  await repository.branch(hash.slice(0, 10), other)
  await repository.git(['update-ref', 'refs/tags/refs/heads/gone', other])
  const at = (type: 'branch' | 'tag' | 'commit', ref: string) =>
    gantry.hashOf({ repository: repository.address, source: { type, ref } })
  assert.equal(await at('commit', hash.slice(0, 10)), hash)
  assert.equal(await at('branch', hash.slice(0, 10)), other)
  assert.equal(await at('branch', 'gone'), 'NOT-FOUND The repository has no branch "gone".')
})

test('a commit is found by its hash or the beginning of it, on any branch or tag', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const newer = await repository.commit(files)
  const tagged = await repository.commit(files, { branch: 'old' })
  await repository.tag('v1', tagged)
  await repository.removeBranch('old')
  const at = (ref: string) =>
    gantry.hashOf({ repository: repository.address, source: { type: 'commit', ref } })
  assert.equal(await at(hash), hash)
  assert.equal(await at(hash.slice(0, 7).toUpperCase()), hash)
  assert.equal(await at(newer), newer)
  assert.equal(await at(tagged), tagged)
  const tree = await repository.git(['rev-parse', `${hash}^{tree}`])
  assert.equal(await at(tree), `NOT-FOUND The repository has no commit ${tree}.`)
  assert.equal(await at('f'.repeat(40)), `NOT-FOUND The repository has no commit ${'f'.repeat(40)}.`)
  assert.equal(await at('f'.repeat(64)), `NOT-FOUND The repository has no commit ${'f'.repeat(64)}.`)
})

test('an ambiguous short hash finds no commit', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const [one, two] = twoAlike(await repository.git(['rev-parse', `${hash}^{tree}`]))
  for (const [name, content] of Object.entries({ one, two })) {
    const made = await repository.git(['hash-object', '-t', 'commit', '-w', '--stdin'], content)
    await repository.branch(name, made)
  }
  const ref = hashOfCommit(one).slice(0, 7)
  const source = { type: 'commit' as const, ref }
  const said = await gantry.hashOf({ repository: repository.address, source })
  assert.equal(said, `NOT-FOUND Several commits begin with ${ref}: use more of its digits.`)
})

test('a commit that has left all branches is not found, unless an earlier run had it', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const address = repository.address
  const source = { type: 'commit' as const, ref: hash }
  assert.equal(await gantry.hashOf({ repository: address, source }), hash)
  await repository.git(['update-ref', '-d', 'refs/heads/main'])
  const forced = await repository.commit(files, { message: 'Forced' })
  assert.equal(await gantry.hashOf({ repository: address }), forced)
  const said = await gantry.hashOf({ repository: address, source })
  assert.equal(said, `NOT-FOUND The commit ${hash} is not on any branch or tag.`)
  assert.equal(await gantry.hashOf({ repository: address, source, resolvedBefore: true }), hash)
})

test('requests that agree on a commit fetch once: those that waited take what the first has agreed', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  let agreed: string | null = null
  const agreement = {
    agreed: async () => agreed,
    agree: async (commit: { hash: string }) => (agreed = commit.hash),
  }
  const resolve = () => gantry.hashOf({ repository: repository.address, agreement })
  assert.deepEqual(await Promise.all([resolve(), resolve(), resolve()]), [hash, hash, hash])
  assert.equal(gantry.lines.filter((line) => line.startsWith('Fetching')).length, 1)
  await repository.commit(files)
  assert.equal(await resolve(), hash, 'whatever the branch is at by now')
})

test('a request that is slower than another machine takes what was agreed there', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const newer = await repository.commit(files)
  let isSettled = false
  const agreement = {
    agreed: async () => (isSettled ? hash : null),
    async agree() {
      isSettled = true
      return hash
    },
  }
  assert.equal(await gantry.hashOf({ repository: repository.address, agreement }), hash)
  assert.equal(await gantry.hashOf({ repository: repository.address }), newer)
})

test('a commit that has left all branches is fetched by its hash when an earlier run had it', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  await repository.removeBranch('main')
  const forced = await repository.commit(files, { message: 'Forced' })
  const source = { type: 'commit' as const, ref: hash }
  const request = { repository: repository.address, source }
  assert.equal(await gantry.hashOf(request), `NOT-FOUND The repository has no commit ${hash}.`)
  assert.equal(await gantry.hashOf({ ...request, resolvedBefore: true }), hash)
  assert.equal(
    await gantry.hashOf({ repository: repository.address }),
    forced,
    'the branch stays where it is',
  )
  await repository.git(['-c', 'gc.cruftPacks=false', 'gc', '--prune=now', '--quiet'])
  const gone = { ...request, applicationId: 2, resolvedBefore: true }
  assert.equal(await gantry.hashOf(gone), `NOT-FOUND The repository has no commit ${hash}.`)
})

test('branches that go, move and change into folders are followed', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const on = (ref: string) =>
    gantry.hashOf({ repository: repository.address, source: { type: 'branch', ref } })
  await repository.branch('a', hash)
  assert.equal(await on('a'), hash)
  await repository.removeBranch('a')
  await repository.branch('a/b', hash)
  assert.equal(await on('a/b'), hash)
  assert.equal(await on('a'), 'NOT-FOUND The repository has no branch "a".')
})

const hostile = [
  '',
  '--upload-pack=touch x',
  '$(touch x)',
  '`touch x`',
  '../..',
  'a"b',
  "a'b",
  'a\nb',
  '-',
  '\0',
  'main\0',
]
hostile.push(
  'x'.repeat(10_000),
  'main:index.html',
  'main~1',
  'main^{tree}',
  '@{u}',
  'HEAD',
  ':/x',
  '*',
  'refs/heads/main',
)

test('an odd ref is not found, with an explanation, and does nothing else', async (t) => {
  const { repository, gantry } = await prepared(t)
  for (const type of ['branch', 'tag', 'commit'] as const) {
    for (const ref of hostile) {
      const said = await gantry.take({ repository: repository.address, source: { type, ref } })
      assert.equal(said.kind, 'not-found', `${type} ${ref.slice(0, 20)}`)
      assert.match(said.kind === 'not-found' ? said.message : '', /^["A-Z][^\0-\x1f]{1,200}\.$/)
    }
  }
  assert.ok(!existsSync('/x') && !existsSync('x'))
})

test('only branches and tags are mirrored: what else a host keeps cannot be deployed', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  const foreign = await repository.commit(files, { branch: 'foreign' })
  await repository.git(['update-ref', 'refs/pull/1/head', foreign])
  await repository.removeBranch('foreign')
  const source = { type: 'commit' as const, ref: foreign }
  const said = await gantry.hashOf({ repository: repository.address, source })
  assert.equal(said, `NOT-FOUND The repository has no commit ${foreign}.`)
  assert.equal(await gantry.hashOf({ repository: repository.address }), hash)
})

test('a repository without commits has no branch, and one that is not there is not found', async (t) => {
  const repository = await makeRepository(t)
  const gantry = await openRepositories(t)
  const { address } = repository
  assert.equal(await gantry.hashOf({ repository: address }), 'NOT-FOUND The repository has no branch "main".')
  await rm(repository.folder, { recursive: true })
  assert.equal(
    await gantry.hashOf({ repository: address }),
    `NOT-FOUND There is no repository at ${address}.`,
  )
  assert.equal(
    await gantry.hashOf({ repository: address, applicationId: 2 }),
    `NOT-FOUND There is no repository at ${address}.`,
  )
})

test('an application that moves to another repository gets nothing from the first', async (t) => {
  const { gantry, hash, repository } = await prepared(t)
  const second = await makeRepository(t, { name: 'second', files: { 'a.txt': 'other' } })
  await second.branch('only-here', 'main')
  const source = { type: 'commit' as const, ref: hash }
  assert.equal(await gantry.hashOf({ repository: repository.address, source }), hash)
  assert.match(
    await gantry.hashOf({ repository: second.address, source, resolvedBefore: true }),
    /^NOT-FOUND/,
  )
  assert.match(await gantry.hashOf({ repository: second.address }), /^[0-9a-f]{40}$/)
})

test('the repository of another account, and one with SHA-256 hashes, can be read too', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  if (asRoot) await giveAway(repository)
  assert.equal(await gantry.hashOf({ repository: repository.address }), hash)
  const modern = await makeRepository(t, { files, hashes: 'sha256' })
  const request = { repository: modern.address, applicationId: 2 }
  assert.match(await gantry.hashOf(request), /^[0-9a-f]{64}$/)
  assert.match(await gantry.hashOf(request), /^[0-9a-f]{64}$/)
  const ref = (await gantry.hashOf(request)).slice(0, 12)
  assert.match(await gantry.hashOf({ ...request, source: { type: 'commit', ref } }), /^[0-9a-f]{64}$/)
})

test('a tree that would be unpacked outside its folder is rejected', async (t) => {
  const { repository, gantry } = await prepared(t)
  const blob = await repository.git(['hash-object', '-w', '--stdin'], 'x')
  const inner = await rawTree(repository, '100644 passwd', blob)
  const tree = await rawTree(repository, '40000 ..', inner)
  await repository.branch('evil', await repository.git(['commit-tree', '-m', 'Evil', tree]))
  const source = { type: 'branch' as const, ref: 'evil' }
  const said = await gantry.take({ repository: repository.address, source })
  assert.equal(said.kind, 'failed')
  assert.match(said.kind === 'failed' ? said.message : '', /unsafe or corrupt: .*hasDotdot/)
})

test('the verdict about an address comes before any contact, and its words are passed on', async (t) => {
  const { repository, hash } = await prepared(t)
  let verdict: 'refused' | 'unreachable' | 'allowed' = 'refused'
  const gantry = await openRepositories(t, {
    verdict: () => (verdict === 'allowed' ? { kind: verdict } : { kind: verdict, message: 'No.' }),
  })
  assert.equal(await gantry.hashOf({ repository: repository.address }), 'FAILED No.')
  assert.equal(await gantry.hashOf({ repository: 'ext::sh' }).then((text) => text.slice(0, 6)), 'FAILED')
  assert.deepEqual(gantry.lines, [])
  verdict = 'allowed'
  const source = { type: 'commit' as const, ref: hash }
  assert.equal(await gantry.hashOf({ repository: repository.address, source }), hash)
  verdict = 'unreachable'
  assert.equal(await gantry.hashOf({ repository: repository.address, source }), hash)
  verdict = 'refused'
  assert.equal(await gantry.hashOf({ repository: repository.address, source }), 'FAILED No.')
})

test('many fetches leave few packs, and every commit', async (t) => {
  const { repository, gantry, hash } = await prepared(t)
  for (let n = 0; n < 22; n++) {
    const made = await repository.commit({ 'n.txt': String(n) })
    assert.equal(await gantry.hashOf({ repository: repository.address }), made)
  }
  const packs = await readdir(join(gantry.folder, '1', 'mirror.git', 'objects', 'pack'))
  assert.ok(packs.filter((file) => file.endsWith('.pack')).length <= 3)
  const source = { type: 'commit' as const, ref: hash }
  await rename(repository.folder, `${repository.folder}.away`)
  assert.equal(await gantry.hashOf({ repository: repository.address, source, resolvedBefore: true }), hash)
})

async function prepared(t: Parameters<typeof makeRepository>[0]) {
  const repository = await makeRepository(t, { files })
  const gantry = await openRepositories(t)
  return { repository, gantry, hash: await repository.git(['rev-parse', 'main']) }
}

async function giveAway(repository: TestRepository): Promise<void> {
  const entries = await readdir(repository.folder, { recursive: true })
  for (const entry of ['', ...entries]) await chown(join(repository.folder, entry), 65_534, 65_534)
}

function rawTree(repository: TestRepository, entry: string, hash: string): Promise<string> {
  const content = Buffer.concat([Buffer.from(`${entry}\0`), Buffer.from(hash, 'hex')])
  return repository.git(['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], content)
}

function hashOfCommit(content: string): string {
  return createHash('sha1').update(`commit ${content.length}\0${content}`).digest('hex')
}

/** Two commits whose hashes begin with the same seven digits. */
function twoAlike(tree: string): [string, string] {
  const seen = new Map<string, string>()
  const who = 'Zoe <zoe@example.com> 1793520000 +0000'
  for (let n = 0; ; n++) {
    const content = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\n${n}\n`
    const digits = hashOfCommit(content).slice(0, 7)
    const before = seen.get(digits)
    if (before !== undefined) return [before, content]
    seen.set(digits, content)
  }
}
