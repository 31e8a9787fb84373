import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { makeRepository } from '#test/support/repository.ts'
import { type Compared, type CompareRequest, compareCommits } from './compare.ts'
import { never, openRepositories, temporaryFolder } from './fixtures.ts'
import { generateHistories } from './test-histories.ts'

test('200 generated histories are compared as their generator knows them', async (t) => {
  const repository = await makeRepository(t)
  const { stream, histories } = generateHistories(200, seeded(18))
  const marks = join(repository.folder, 'marks')
  await repository.git(
    ['fast-import', '--quiet', '--force', '--done', '--date-format=raw', `--export-marks=${marks}`],
    stream,
  )
  const hashes = new Map(
    (await readFile(marks, 'utf8')).split('\n').map((line) => [line.split(' ')[0]!, line.split(' ')[1]!]),
  )
  const hashOf = (mark: number) => hashes.get(`:${mark}`)!
  const expected = (commits: (typeof histories)[number]['commits']) => ({
    total: commits.length,
    items: commits.map(({ mark, subject, author, time }) => ({
      sha: hashOf(mark),
      subject,
      author_name: author,
      committed_at: new Date(time * 1_000).toISOString(),
    })),
  })
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)
  for (const { from, to, branch, ...answer } of histories) {
    const { files, ...comparison } = compared(
      await compareCommits(repository.folder, { from: hashOf(from), to: hashOf(to), branch, signal: never }),
    )
    assert.deepEqual(
      { ...comparison, files: files.items.toSorted(byPath), fileCount: files.total },
      {
        commits: expected(answer.commits),
        removedCommits: expected(answer.removedCommits),
        rewritten: answer.rewritten,
        files: answer.files.toSorted(byPath),
        fileCount: answer.files.length,
      },
      `${branch}: ${hashOf(from)}..${hashOf(to)}`,
    )
  }
  const seen = histories.flatMap(({ files }) => files.map(({ status }) => status))
  assert.deepEqual([...new Set(seen)].sort(), ['added', 'deleted', 'modified', 'renamed'])
  assert.ok(histories.some(({ rewritten, commits }) => rewritten && commits.length > 0))
  assert.ok(histories.some(({ rewritten, commits }) => rewritten && commits.length === 0))
})

test('deploying another branch rewrites nothing, a deleted branch does', async (t) => {
  const { repository, base, compare } = await open(t)
  await repository.branch('feature', base)
  const feature = await repository.commit({ 'b.txt': 'b' }, { branch: 'feature' })
  const main = await repository.commit({ 'c.txt': 'c' })
  const anywhere = await compare({ from: feature, to: main })
  assert.equal(anywhere.rewritten, false)
  assert.deepEqual([anywhere.commits?.total, anywhere.removedCommits?.total], [1, 1])
  assert.equal((await compare({ from: feature, to: main, branch: 'main' })).rewritten, true)
  await repository.removeBranch('feature')
  assert.equal((await compare({ from: feature, to: main })).rewritten, true)
})

test('a tag does not hide a force-push', async (t) => {
  const { repository, base, compare } = await open(t)
  const old = await repository.commit({ 'a.txt': 'old' })
  await repository.tag('v1', old)
  await repository.branch('main', base)
  const next = await repository.commit({ 'a.txt': 'new' })
  assert.equal((await compare({ from: old, to: next })).rewritten, true)
})

test('long lists are cut, and keep their totals', async (t) => {
  const { repository, base, compare } = await open(t)
  for (let count = 0; count < 5; count += 1) await repository.commit({ [`${count}.txt`]: `${count}` })
  const to = await repository.git(['rev-parse', 'main'])
  const { commits, files } = await compare({ from: base, to, maxCommits: 2, maxFiles: 3 })
  assert.deepEqual([commits?.total, commits?.items.length], [5, 2])
  assert.deepEqual([files.total, files.items.map(({ path }) => path)], [5, ['0.txt', '1.txt', '2.txt']])
})

test('a subject of 10 MB, names that are not UTF-8 and a file of 10 MB are no obstacle', async (t) => {
  const { repository, base, compare } = await open(t)
  const invalid = Buffer.from('name-\xff.txt', 'latin1')
  const blob = Buffer.alloc(10 * 1024 * 1024, 'large file\n')
  const parts = [
    `commit refs/heads/main\nauthor Zo\xeb <z> 1793520001 +0000\ncommitter Z <z> 1793520001 +0000\n`,
    `data ${10 * 1024 * 1024}\n`,
    Buffer.alloc(10 * 1024 * 1024, 'ä'),
    '\nfrom refs/heads/main^0\nM 100644 inline ',
    invalid,
    `\ndata ${blob.length}\n`,
    blob,
    '\ndone\n',
  ]
  const stream = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
  )
  await repository.git(['fast-import', '--quiet', '--done', '--date-format=raw'], stream)
  const to = await repository.git(['rev-parse', 'main'])
  const { commits, files } = await compare({ from: base, to })
  const [commit] = commits!.items
  assert.match(commit!.subject, /^ä{255}…$/)
  assert.equal(commit!.author_name, 'Zo�')
  assert.deepEqual(files.items, [{ path: 'name-�.txt', status: 'added', old_path: null }])
})

test('a repository of SHA-256 is compared', async (t) => {
  const { repository, base, compare } = await open(t, 'sha256')
  const to = await repository.commit({ 'a.txt': null, 'b.txt': 'a' })
  const { files, commits } = await compare({ from: base, to })
  assert.equal(commits?.items[0]?.sha.length, 64)
  assert.deepEqual(files.items, [{ path: 'b.txt', status: 'renamed', old_path: 'a.txt' }])
})

test('a commit that the mirror lacks is named, and so is a missing mirror', async (t) => {
  const { repository, base } = await open(t)
  const absent = 'f'.repeat(40)
  const compare = (from: string, to: string) => compareCommits(repository.folder, { from, to, signal: never })
  assert.deepEqual(await compare(absent, base), { kind: 'unavailable', reason: 'missing-from' })
  assert.deepEqual(await compare(base, absent), { kind: 'unavailable', reason: 'missing-to' })
  const gantry = await openRepositories(t)
  const nowhere = await gantry.compare({ applicationId: 1, from: absent, to: base, signal: never })
  assert.deepEqual(nowhere, { kind: 'unavailable', reason: 'missing-to' })
})

test('a damaged repository and a short time end in a reason', async (t) => {
  const { repository, base } = await open(t)
  const to = await repository.commit({ 'b.txt': 'b' })
  const request = { from: base, to, signal: never }
  const late = await compareCommits(repository.folder, { ...request, withinMs: 0 })
  assert.deepEqual(late, { kind: 'unavailable', reason: 'timeout' })
  const tree = await repository.git(['rev-parse', `${to}^{tree}`])
  await rm(join(repository.folder, 'objects', tree.slice(0, 2), tree.slice(2)))
  const damaged = await compareCommits(repository.folder, request)
  assert.deepEqual(damaged, { kind: 'unavailable', reason: 'unreadable' })
})

test('of a shallow history only the files are known', async (t) => {
  const { repository } = await open(t)
  const from = await repository.commit({ 'b.txt': 'b' })
  const to = await repository.commit({ 'c.txt': 'c' })
  const folder = join(await temporaryFolder(t), 'shallow.git')
  await promisify(execFile)('git', ['clone', '-q', '--bare', '--depth=2', repository.address, folder])
  const { files, ...others } = compared(await compareCommits(folder, { from, to, signal: never }))
  assert.deepEqual(others, { commits: null, removedCommits: null, rewritten: null })
  assert.deepEqual(files.items, [{ path: 'c.txt', status: 'added', old_path: null }])
})

test('an aborted comparison throws the reason', async (t) => {
  const { repository, base } = await open(t)
  const signal = AbortSignal.abort(new Error('enough'))
  await assert.rejects(compareCommits(repository.folder, { from: base, to: base, signal }), /enough/)
})

async function open(t: Parameters<typeof makeRepository>[0], hashes: 'sha1' | 'sha256' = 'sha1') {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' }, hashes })
  const base = await repository.git(['rev-parse', 'main'])
  const compare = async (request: Omit<CompareRequest, 'signal'>) =>
    compared(await compareCommits(repository.folder, { ...request, signal: never }))
  return { repository, base, compare }
}

function compared(result: Compared) {
  if (result.kind !== 'compared') throw new Error(result.reason)
  return result.comparison
}

/** The same numbers every time (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
