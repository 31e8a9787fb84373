import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { later } from '#test/support/later.ts'
import { makeRepository } from '#test/support/repository.ts'
import { commandLines, eventually, filesWith, openRepositories } from './fixtures.ts'
import { serveGit } from './test-git-server.ts'

type Closer = Parameters<typeof makeRepository>[0]
const SECRET = 'ghp_s3cretT0ken/+='
const token = { username: 'zoe', secret: SECRET }

async function shop(t: Closer, options: Partial<Parameters<typeof serveGit>[1]> = {}) {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const hash = await repository.git(['rev-parse', 'main'])
  const server = await serveGit(t, { folder: dirname(repository.folder), ...options })
  return { repository, hash, server, address: `${server.url}/shop.git` }
}

test('a token opens a private repository; a wrong one and none are rejected with a reason', async (t) => {
  const { hash, address } = await shop(t, { password: token })
  const gantry = await openRepositories(t)
  const wrong = { ...token, secret: 'wrong' }
  assert.match(await gantry.hashOf({ repository: address }), /^FAILED .*requires a credential/)
  assert.match(
    await gantry.hashOf({ repository: address, token: wrong }),
    /^FAILED .*does not accept the credential/,
  )
  assert.equal(await gantry.hashOf({ repository: address, token }), hash)
  const withName = address.replace('//', '//zoe@')
  assert.equal(await gantry.hashOf({ repository: withName, token: { secret: SECRET } }), hash)
  // The mirror is no way around the host: who may not read there gets nothing from here.
  const source = { type: 'commit' as const, ref: hash }
  assert.match(await gantry.hashOf({ repository: address, token: wrong, source }), /^FAILED/)
})

test('while git fetches, the token is in no command line and in no file, and no line or record contains it', async (t) => {
  const seen: string[] = []
  const files: string[] = []
  let gantry: Awaited<ReturnType<typeof openRepositories>>
  const { address } = await shop(t, {
    password: token,
    before: async () => {
      seen.push(...(await commandLines()))
      files.push(...(await filesWith(gantry.folder, SECRET)), ...(await filesWith(gantry.folder, encoded)))
      return false
    },
  })
  gantry = await openRepositories(t)
  const resolved = await gantry.take({ repository: address, token })
  assert.equal(resolved.kind, 'resolved')
  assert.ok(
    seen.some((line) => line.includes('git') && line.includes(address)),
    'git was seen at work',
  )
  assert.ok(seen.every((line) => !line.includes(SECRET) && !line.includes(encoded)))
  files.push(...(await filesWith(gantry.folder, SECRET)), ...(await filesWith(gantry.folder, encoded)))
  assert.deepEqual(files, [])
  assert.doesNotMatch(JSON.stringify([resolved, gantry.lines]), /s3cret|emk6/i)
})

const encoded = Buffer.from(`zoe:${SECRET}`).toString('base64')

test('a redirect elsewhere is not followed, and the token does not go there', async (t) => {
  const trap: (string | undefined)[] = []
  const other = await shop(t, {
    before: (request) => {
      trap.push(request.headers.authorization)
      return false
    },
  })
  const { address } = await shop(t, {
    before: (request, response) => {
      response.writeHead(301, { location: `${other.server.url}${request.url}` }).end()
      return true
    },
  })
  const gantry = await openRepositories(t)
  assert.match(await gantry.hashOf({ repository: address, token }), /^FAILED .* moved from .* new URL\.$/)
  assert.deepEqual(trap, [])
})

test('a host that wants .git at the end gets it', async (t) => {
  const { hash, server } = await shop(t, {
    password: token,
    before: (request, response) => {
      if (request.url!.startsWith('/shop.git')) return false
      response.writeHead(302, { location: request.url!.replace('/shop', '/shop.git') }).end()
      return true
    },
  })
  const gantry = await openRepositories(t)
  assert.equal(await gantry.hashOf({ repository: `${server.url}/shop`, token }), hash)
})

test('git connects to the address that was checked, whatever the name resolves to', async (t) => {
  const { hash, server } = await shop(t)
  const repository = `http://git.invalid:${server.port}/shop.git`
  const gantry = await openRepositories(t, {
    verdict: () => ({ kind: 'allowed', addresses: ['::1', '127.0.0.1'] }),
  })
  assert.equal(await gantry.hashOf({ repository }), hash)
  const plain = await openRepositories(t)
  assert.equal(await plain.hashOf({ repository }), 'FAILED The name git.invalid could not be resolved.')
})

const answers: [number, string][] = [
  [403, 'FAILED 127.0.0.1 does not allow this application to read the repository.'],
  [404, 'NOT-FOUND There is no repository at '],
  [429, 'FAILED 127.0.0.1 is unavailable right now.'],
  [500, 'FAILED 127.0.0.1 is unavailable right now.'],
]

test('what hosts answer is explained', async (t) => {
  let status = 0
  const { address } = await shop(t, {
    before: (_request, response) => {
      response.writeHead(status).end('<h1>Sorry</h1>')
      return true
    },
  })
  const gantry = await openRepositories(t)
  for (const [code, message] of answers) {
    status = code
    const said = await gantry.hashOf({ repository: address })
    assert.ok(said.startsWith(message), said)
  }
  status = 200
  assert.match(await gantry.hashOf({ repository: address }), /^NOT-FOUND/)
})

test('a host that does not accept connections is a temporary failure, at once', async (t) => {
  const { address, server } = await shop(t)
  const gantry = await openRepositories(t)
  const closed = address.replace(String(server.port), '1')
  assert.deepEqual(await gantry.take({ repository: closed }), {
    kind: 'failed',
    message: '127.0.0.1 does not accept connections.',
    temporary: true,
  })
})

test('a silent host is abandoned', async (t) => {
  const silent = await listen(t)
  const repository = `http://127.0.0.1:${silent.port}/shop.git`
  const gantry = await openRepositories(t, { timeouts: { idleMs: 1_000 } })
  assert.equal(await gantry.hashOf({ repository }), 'FAILED 127.0.0.1 does not answer.')
})

test('the deadline ends a fetch that goes on forever, and nothing stays', async (t) => {
  const silent = await listen(t)
  const repository = `http://127.0.0.1:${silent.port}/shop.git`
  const gantry = await openRepositories(t, { timeouts: { totalMs: 500 } })
  assert.match(await gantry.hashOf({ repository }), /^FAILED Fetching the repository took longer than/)
  assert.ok((await commandLines()).every((line) => !line.includes(repository)))
  assert.deepEqual(await readdir(`${gantry.folder}/1`).catch(() => []), [])
})

test('an aborted request throws the reason once git and its helpers are gone', async (t) => {
  const silent = await listen(t)
  const repository = `http://127.0.0.1:${silent.port}/shop.git`
  const gantry = await openRepositories(t)
  const controller = new AbortController()
  const running = gantry.take({ repository, signal: controller.signal })
  const waiting = gantry.take({ repository, signal: controller.signal })
  const outcomes = Promise.allSettled([running, waiting])
  await eventually('git fetches', async () =>
    (await commandLines()).some((line) => line.includes('remote-http') && line.includes(repository)),
  )
  const reason = new Error('enough')
  controller.abort(reason)
  for (const outcome of await outcomes) assert.equal(outcome.status === 'rejected' && outcome.reason, reason)
  assert.ok((await commandLines()).every((line) => !line.includes(repository)))
  await assert.rejects(gantry.take({ repository, signal: controller.signal }), reason)
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
