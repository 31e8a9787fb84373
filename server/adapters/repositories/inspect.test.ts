import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, utimes } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { suite, test } from 'node:test'
import { later } from '#test/support/later.ts'
import { makeRepository } from '#test/support/repository.ts'
import { commandLines, eventually, never, temporaryFolder } from './fixtures.ts'
import { type Inspected, type InspectRequest, inspectRepository, parseBranches } from './inspect.ts'
import { serveGit } from './test-git-server.ts'
import { startSshHost } from './test-ssh-host.ts'

type Closer = Parameters<typeof makeRepository>[0]
const TOKEN = { username: 'zoe', secret: 'ghp_s3cretT0ken' }
const PACKAGE = '{"scripts": {"build": "vite build"}}'

async function prepare(t: Closer) {
  const folder = join(await temporaryFolder(t), 'inspections')
  const inspect = (request: Partial<InspectRequest>): Promise<Inspected> =>
    inspectRepository({
      repository: '',
      provider: null,
      token: null,
      sshKey: null,
      allowRemote: async () => ({ kind: 'allowed' }),
      wanted: ['package.json'],
      folder,
      withinMs: 20_000,
      signal: never,
      ...request,
    })
  return { folder, inspect }
}

function seen(inspected: Inspected) {
  if (inspected.kind === 'closed') assert.fail(inspected.message)
  const { branches, snapshot, problem } = inspected
  return {
    branches: branches.names,
    files: [...(snapshot?.files ?? [])],
    folders: [...(snapshot?.folders ?? [])],
    contents: Object.fromEntries(snapshot?.contents ?? []),
    problem: problem?.problem ?? null,
  }
}

const FILES = { 'package.json': PACKAGE, 'src/main.ts': 'main()', 'README.md': 'Shop' }
const SHOP = {
  branches: ['main', 'develop'],
  files: ['README.md', 'package.json'],
  folders: ['src'],
  contents: { 'package.json': PACKAGE },
  problem: null,
}

async function shop(t: Closer, options: Partial<Parameters<typeof serveGit>[1]> = {}) {
  const repository = await makeRepository(t, { files: FILES })
  await repository.branch('develop', 'main')
  const server = await serveGit(t, { folder: dirname(repository.folder), ...options })
  return { repository, server, address: `${server.url}/shop.git` }
}

suite('a repository', () => {
  test('is read over http, with a token that is in no command line', async (t) => {
    const lines: string[] = []
    const { address, server } = await shop(t, {
      password: TOKEN,
      before: async () => {
        lines.push(...(await commandLines()))
        return false
      },
    })
    const { inspect, folder } = await prepare(t)
    assert.deepEqual(seen(await inspect({ repository: address, token: TOKEN })), SHOP)
    assert.ok(lines.some((line) => line.includes('fetch') && line.includes(address)))
    assert.ok(lines.every((line) => !line.includes(TOKEN.secret)))
    assert.deepEqual(await readdir(folder), [], 'nothing stays')
    const wrong = await inspect({ repository: address, token: { ...TOKEN, secret: 'wrong' } })
    assert.equal(wrong.kind === 'closed' && wrong.problem, 'authentication')
    const absent = await inspect({ repository: `${server.url}/nothing.git`, token: TOKEN })
    assert.equal(absent.kind === 'closed' && absent.problem, 'not_found')
  })

  test('is read over ssh, and no host key or key file stays', async (t) => {
    const { repository } = await shop(t)
    const host = await startSshHost(t)
    const { inspect, folder } = await prepare(t)
    const request = { repository: `${host.url}${repository.folder}`, sshKey: host.privateKey }
    assert.deepEqual(seen(await inspect(request)), SHOP)
    await host.restartAsAnother()
    assert.deepEqual(seen(await inspect(request)), SHOP)
    assert.deepEqual(await readdir(folder), [])
    const denied = await inspect({ ...request, sshKey: null })
    assert.equal(denied.kind === 'closed' && denied.problem, 'authentication')
  })

  test('is read from hosts that send all files, some filters, or only what is wanted', async (t) => {
    const { repository, address } = await shop(t)
    const { inspect } = await prepare(t)
    const settings = [
      [],
      [['uploadpack.allowFilter', 'true']],
      [
        ['uploadpack.allowFilter', 'true'],
        ['uploadpackfilter.allow', 'false'],
        ['uploadpackfilter.blob:none.allow', 'true'],
      ],
    ]
    for (const pairs of settings) {
      for (const [key, value] of pairs) await repository.git(['config', key!, value!])
      assert.deepEqual(seen(await inspect({ repository: address })), SHOP)
    }
  })

  test('has the default branch first, and one that is empty has none', async (t) => {
    const { repository, address } = await shop(t)
    await repository.git(['symbolic-ref', 'HEAD', 'refs/heads/develop'])
    const { inspect } = await prepare(t)
    assert.deepEqual(seen(await inspect({ repository: address })).branches, ['develop', 'main'])
    const empty = await makeRepository(t)
    assert.deepEqual(seen(await inspect({ repository: empty.address })).branches, [])
    const other = await makeRepository(t, { files: FILES, hashes: 'sha256' })
    assert.deepEqual(seen(await inspect({ repository: other.address })).contents, SHOP.contents)
  })

  test('that moved is followed only to the name with .git', async (t) => {
    const { server } = await shop(t, {
      before: (request, response) => {
        if (request.url!.startsWith('/shop.git')) return false
        response.writeHead(302, { location: request.url!.replace('/shop', '/shop.git') }).end()
        return true
      },
    })
    const { inspect } = await prepare(t)
    assert.deepEqual(seen(await inspect({ repository: `${server.url}/shop` })), SHOP)
    const moved = await inspect({ repository: `${server.url}/elsewhere` })
    assert.equal(moved.kind === 'closed' && moved.problem, 'moved')
  })
})

suite('a hostile repository', () => {
  test('is cut off at its size, and its branches are still known', async (t) => {
    const { repository, address } = await shop(t)
    const noise = randomBytes(2_000_000)
    await repository.commit({ 'noise.bin': noise })
    const { inspect, folder } = await prepare(t)
    const found = seen(await inspect({ repository: address, maxBytes: 1_000_000 }))
    assert.deepEqual([found.branches, found.files, found.problem], [SHOP.branches, [], 'too_large'])
    assert.deepEqual(await readdir(folder), [])
    // Where the host can leave it out, it does not matter.
    await repository.git(['config', 'uploadpack.allowFilter', 'true'])
    const filtered = seen(await inspect({ repository: address, maxBytes: 1_000_000 }))
    assert.deepEqual(filtered.contents, SHOP.contents)
  })

  test('gets no link followed, no large or binary file read, and no code run', async (t) => {
    const { repository, address } = await shop(t)
    await repository.commit({
      'package.json': { linkTo: '/etc/passwd' },
      'composer.json': 'x'.repeat(300_000),
      Gemfile: 'a\0b',
      'go.mod': 'module shop',
      'odd\tname': 'x',
      '.gitattributes': '* filter=evil',
      '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = https://example.com/x.git\n',
    })
    const { inspect } = await prepare(t)
    const wanted = ['package.json', 'composer.json', 'Gemfile', 'go.mod']
    const found = seen(await inspect({ repository: address, wanted }))
    assert.deepEqual(found.contents, { 'go.mod': 'module shop' })
    assert.ok(found.files.includes('odd\tname') && !found.files.includes('package.json'))
  })

  test('is abandoned in time, and git is gone', async (t) => {
    const silent = await listen(t)
    const repository = `http://127.0.0.1:${silent.port}/shop.git`
    const { inspect, folder } = await prepare(t)
    const late = await inspect({ repository, withinMs: 500 })
    assert.equal(late.kind === 'closed' && late.problem, 'timeout')
    const stop = new AbortController()
    const running = inspect({ repository, signal: stop.signal })
    const stopped = assert.rejects(running, /stopping/)
    await eventually('git asks', async () =>
      (await commandLines()).some((line) => line.includes('remote-http') && line.includes(repository)),
    )
    stop.abort(new Error('stopping'))
    await stopped
    assert.ok((await commandLines()).every((line) => !line.includes(repository)))
    assert.deepEqual(await readdir(folder), [])
  })

  test('with countless branches shows the first ones, and only names that runs accept', () => {
    const hash = 'a'.repeat(40)
    const lines = Array.from({ length: 300 }, (_, index) => `${hash}\trefs/heads/b${1000 + index}\n`)
    const output = `ref: refs/heads/gone\tHEAD\n${hash}\tHEAD\n${lines.join('')}${hash}\trefs/heads/-x\n${hash}\trefs/hea`
    const branches = parseBranches(output)
    assert.deepEqual([branches.names.length, branches.hasMore], [200, true])
    assert.equal(branches.default?.name, 'b1000')
    assert.deepEqual(parseBranches(`${hash}\trefs/heads/-x\n`).default, null)
  })
})

test('an address that may not be reached is not contacted', async (t) => {
  const { address, server } = await shop(t)
  const { inspect } = await prepare(t)
  const allowRemote = async () => ({ kind: 'refused' as const, message: 'Not there.' })
  assert.deepEqual(await inspect({ repository: address, allowRemote }), {
    kind: 'closed',
    problem: 'forbidden_address',
    message: 'Not there.',
  })
  assert.deepEqual(server.requests, [])
})

test('what a killed process left is removed an hour later', async (t) => {
  const { repository } = await shop(t)
  const { inspect, folder } = await prepare(t)
  const [left, used] = ['inspection-left', 'inspection-used'].map((name) => join(folder, name))
  for (const path of [left!, used!]) await mkdir(path, { recursive: true })
  const past = new Date(Date.now() - 61 * 60_000)
  await utimes(left!, past, past)
  await inspect({ repository: repository.address })
  assert.deepEqual(await readdir(folder), ['inspection-used'])
})

/** Takes connections and never answers. */
async function listen(t: Closer): Promise<{ port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return server.address() as { port: number }
}
