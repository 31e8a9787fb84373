import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { makeRepository } from '#test/support/repository.ts'
import { commandLines, cutFile, eventually, never, openRepositories, unpack, unpackInto } from './fixtures.ts'
import { readFolder } from './submodule-paths.ts'

type Closer = Parameters<typeof makeRepository>[0]

const files = {
  'index.html': '<h1>Zoë</h1>\n',
  'build.sh': { executable: '#!/bin/sh\n' },
  'apps/shop/a.txt': 'a',
  'apps/shop/deep/b.txt': 'b',
  'apps/other.txt': 'c',
  'a b/ü.txt': 'd',
  link: { linkTo: 'apps' },
  '.gitattributes': 'apps/other.txt export-ignore\nindex.html export-subst\n',
}

async function resolved(t: Closer, request: Parameters<typeof makeRepository>[1] = { files }) {
  const repository = await makeRepository(t, request)
  const gantry = await openRepositories(t)
  const hash = await gantry.hashOf({ repository: repository.address })
  const archive = (rootDirectory: string | null = null, signal = never) =>
    gantry.archive({ applicationId: 1, hash, rootDirectory, signal })
  return { repository, gantry, hash, archive }
}

test('every file of the commit is in the archive as committed, also what other archives leave out', async (t) => {
  const { archive } = await resolved(t)
  assert.deepEqual(await unpack(t, archive()), {
    'index.html': files['index.html'],
    'build.sh': 'x: #!/bin/sh\n',
    'apps/shop/a.txt': 'a',
    'apps/shop/deep/b.txt': 'b',
    'apps/other.txt': 'c',
    'a b/ü.txt': 'd',
    link: '-> apps',
    '.gitattributes': files['.gitattributes'],
  })
})

test('a root directory gives what is below it, dated like the commit, the same each time', async (t) => {
  const { archive } = await resolved(t)
  const expected = { 'a.txt': 'a', 'deep/b.txt': 'b' }
  for (const root of ['apps/shop', './apps/shop/', 'apps//shop'])
    assert.deepEqual(await unpack(t, archive(root)), expected)
  assert.deepEqual(await unpack(t, archive('a b')), { 'ü.txt': 'd' })
  assert.equal(Object.keys(await unpack(t, archive(''))).length, 8)
  assert.ok((await bytes(archive('apps'))).equals(await bytes(archive('apps'))))
  const folder = await unpackInto(t, archive('apps/shop'))
  assert.equal((await stat(join(folder, 'a.txt'))).mtime.toISOString(), '2026-11-01T08:00:00.000Z')
})

test('a root directory that is no folder, or outside, is explained', async (t) => {
  const { archive, hash } = await resolved(t)
  const short = hash.slice(0, 8)
  for (const root of ['nowhere', 'index.html', 'link', 'apps/shop/a.txt', '-x', 'apps:shop']) {
    await assert.rejects(bytes(archive(root)), { message: `The commit ${short} has no folder "${root}".` })
  }
  for (const root of ['..', 'apps/../..', '/etc', 'apps\nshop', 'a\0b']) {
    await assert.rejects(bytes(archive(root)), /is not a folder inside the repository\.$/)
  }
})

test('a commit that is not in the mirror is explained', async (t) => {
  const { gantry } = await resolved(t)
  const request = { rootDirectory: null, signal: never }
  for (const [applicationId, hash] of [
    [1, 'f'.repeat(40)],
    [2, 'f'.repeat(40)],
  ] as const) {
    const archive = gantry.archive({ applicationId, hash, ...request })
    await assert.rejects(bytes(archive), {
      message: 'The commit ffffffff is not in the mirror of this application.',
    })
  }
  for (const hash of ['main', '--output=x', 'HEAD', '']) {
    await assert.rejects(bytes(gantry.archive({ applicationId: 1, hash, ...request })), /not a commit hash/)
  }
})

test('an archive that git cannot finish fails, and the next fetch repairs the mirror', async (t) => {
  const big = Buffer.from(randomBytes(1_000_000).toString('hex'))
  const { repository, gantry, archive, hash } = await resolved(t, { files: { 'a.txt': 'a', 'z.bin': big } })
  const packs = join(gantry.folder, '1', 'mirror.git', 'objects', 'pack')
  const pack = (await readdir(packs)).find((name) => name.endsWith('.pack'))!
  await cutFile(join(packs, pack), 500_000)
  await assert.rejects(bytes(archive()), /^ArchiveError: (Git could not read|The commit)/)
  assert.equal(await gantry.hashOf({ repository: repository.address }), hash)
  assert.equal((await unpack(t, archive()))['z.bin']!.length, big.length)
})

test('a reader at its own pace gets all of a large archive; git waits for it', async (t) => {
  const big = randomBytes(3_000_000)
  const { archive } = await resolved(t, { files: { 'big.bin': big } })
  const stream = archive()
  await once(stream, 'readable')
  assert.ok(stream.readableLength < 1_000_000)
  let size = 0
  for await (const chunk of stream) size += chunk.length
  assert.ok(size > big.length)
})

test('a reader who leaves, or an abort, ends git; the abort is the error', async (t) => {
  const { archive, gantry, hash } = await resolved(t, { files: { 'big.bin': randomBytes(3_000_000) } })
  const gone = () =>
    eventually('git has ended', async () =>
      (await commandLines()).every((line) => !line.includes(`archive --format=tar ${hash}`)),
    )
  const left = archive()
  await once(left, 'readable')
  left.destroy()
  await gone()
  const controller = new AbortController()
  const aborted = archive(null, controller.signal)
  await once(aborted, 'readable')
  const reason = new Error('enough')
  const failed = once(aborted, 'error')
  controller.abort(reason)
  assert.equal((await failed)[0], reason)
  await gone()
  await assert.rejects(bytes(archive(null, controller.signal)), reason)
  assert.ok(
    (await readdir(join(gantry.folder, '1', 'mirror.git'))).includes('gantry-address'),
    'nothing is damaged',
  )
})

test('a repository beside the mirror is never used by a git that lost its own', async (t) => {
  const { gantry, archive } = await resolved(t)
  await writeFile(join(gantry.folder, '1', 'mirror.git', 'HEAD'), '')
  await assert.rejects(bytes(archive()), /is not in the mirror/)
})

test('root directories are read as relative paths', () => {
  const read = ['', '.', './', 'a', './a/', 'a//b/.', '..', 'a/..', '/a', 'a\nb', '..a', 'a/...'].map(
    readFolder,
  )
  const outside = undefined
  assert.deepEqual(read, ['', '', '', 'a', 'a', 'a/b', outside, outside, outside, outside, '..a', 'a/...'])
})

async function bytes(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray())
}
