import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { makeRepository } from '#test/support/repository.ts'
import { unpack } from './fixtures.ts'
import { readEntries, TAR_END } from './tar-entries.ts'

type Closer = Parameters<typeof makeRepository>[0]
type Files = Parameters<Awaited<ReturnType<typeof makeRepository>>['commit']>[0]

/** What `git archive` writes. */
async function archiveOf(t: Closer, files: Files, prefix = ''): Promise<Buffer> {
  const { folder } = await makeRepository(t, { files })
  const args = ['--git-dir', folder, 'archive', '--format=tar', `--prefix=${prefix}`, 'main']
  const git = spawn('git', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return Buffer.concat(await git.stdout.toArray())
}

async function* inPieces(tar: Buffer, size: number) {
  for (let start = 0; start < tar.length; start += size) yield tar.subarray(start, start + size)
}

const entriesOf = async (tar: Buffer, size = 1_000) =>
  Buffer.concat(await Array.fromAsync(readEntries(inPieces(tar, size))))

test('the entries of several archives make one, whatever the pieces they arrive in', async (t) => {
  const long = `${'folder-'.repeat(14)}/${'x'.repeat(120)}/${'y'.repeat(120)}`
  const first = await archiveOf(t, {
    'a.txt': 'a',
    zeros: Buffer.alloc(5_000),
    empty: '',
    link: { linkTo: 'a.txt' },
  })
  const second = await archiveOf(t, { [long]: 'far', zeros: Buffer.alloc(512) }, 'lib/')
  const whole = await Promise.all([first, second].map((tar) => entriesOf(tar)))
  for (const size of [1, 511, 512, 513, 70_000])
    assert.deepEqual(
      await Promise.all([first, second].map((tar) => entriesOf(tar, size))),
      whole,
      String(size),
    )
  const files = await unpack(t, Readable.from([...whole, TAR_END]))
  assert.deepEqual(files, {
    'a.txt': 'a',
    zeros: '\0'.repeat(5_000),
    empty: '',
    link: '-> a.txt',
    [`lib/${long}`]: 'far',
    'lib/zeros': '\0'.repeat(512),
  })
})

test('an archive that is cut off anywhere is an error', async (t) => {
  const tar = await archiveOf(t, { 'a.txt': 'a'.repeat(600) })
  const end = (await entriesOf(tar)).length
  for (const length of [0, 100, 512, 1_024, end - 600, end - 1, end])
    await assert.rejects(entriesOf(tar.subarray(0, length)), /ended early/, String(length))
  assert.equal((await entriesOf(tar.subarray(0, end + 512))).length, end)
})

test('what is no archive is an error', async () => {
  await assert.rejects(entriesOf(Buffer.alloc(10_240, 'x')), /damaged/)
})

test('a file of eight gigabytes or more has its size in front of its header', async () => {
  const size = 8 * 1024 ** 3
  const record = `19 size=${size}\n`
  const attributes = Buffer.alloc(512)
  attributes.write(`16 path=u/b.txt\n${record}`)
  const blocks = [header('x', 16 + record.length), attributes, header('0', 0)]
  const content = Buffer.alloc(1024 ** 2, 'x')
  async function* large() {
    yield* blocks
    for (let sent = 0; sent < size; sent += content.length) yield content
    yield TAR_END
  }
  let length = 0
  for await (const chunk of readEntries(large())) length += chunk.length
  assert.equal(length, 3 * 512 + size)
})

function header(type: string, size: number): Buffer {
  const block = Buffer.alloc(512)
  block.write('name')
  block.write(size.toString(8).padStart(11, '0'), 124)
  block.write(type, 156)
  block.write('ustar', 257)
  return block
}
