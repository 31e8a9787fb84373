import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import ssh2 from 'ssh2'
import { createSshGuard } from '#platform/addresses/ssh-guard.ts'
import { later } from '#test/support/later.ts'
import { LOCAL_SETTINGS } from '#test/support/local-settings.ts'
import { makeKey, type Sshd, startSshd } from '#test/support/sshd.ts'
import { createConnect } from './connect.ts'
import type { Executor } from './executor.ts'
import { fingerprint, parseHostKey } from './host-key.ts'
import { connectSsh, type SshOptions } from './ssh-connect.ts'
import { testBehavior } from './test-behavior.ts'
import { cancelAt, processesNamed, run, START_DAEMONS, startVictim, until } from './test-commands.ts'

const asRoot = process.getuid!() === 0

type Closer = { after(fn: () => Promise<void>): void }

describe('commands over SSH', () => {
  let sshd: Sshd
  let remote: Executor
  const closing: (() => Promise<void>)[] = []
  before(async () => {
    const t = { after: (fn: () => Promise<void>) => void closing.push(fn) }
    sshd = await startSshd(t)
    remote = await connected(t, sshd)
  })
  after(async () => {
    for (const close of closing) await close()
  })

  testBehavior(() => remote)

  test('a host is known by its key from the first contact on', async (t) => {
    const seen: string[] = []
    const onNewHostKey = async (hostKey: string) => void seen.push(hostKey)
    const first = await connected(t, sshd, { hostKey: null, onNewHostKey })
    assert.deepEqual(seen, [sshd.hostKey])
    assert.equal((await run(first, 'echo hello')).output, 'hello\n')
    await connected(t, sshd, { hostKey: `${seen[0]} a comment`, onNewHostKey })
    assert.equal(seen.length, 1)
  })

  test('nothing runs on a new host when its key cannot be stored', async () => {
    const onNewHostKey = () => Promise.reject(new Error('the database is away'))
    await assert.rejects(connectSsh({ ...optionsFor(sshd), hostKey: null, onNewHostKey }), /database is away/)
  })

  test('a host with another key is rejected, and both fingerprints are shown', async (t) => {
    const other = await keyPair(t)
    const message = await rejection({ ...optionsFor(sshd), hostKey: other.publicKey })
    assert.ok(message.includes(fingerprint(parseHostKey(other.publicKey)!.blob)), message)
    assert.ok(message.includes(fingerprint(parseHostKey(sshd.hostKey)!.blob)), message)
  })

  test('a host presents the known key, even if it has others', async (t) => {
    const second = await keyPair(t, { type: 'ecdsa' })
    const both = await startSshd(t, { settings: [`HostKey ${second.path}`] })
    for (const hostKey of [both.hostKey, second.publicKey]) {
      assert.equal((await run(await connected(t, both, { hostKey }), 'echo hello')).output, 'hello\n')
    }
  })

  test('the message says why a server cannot be reached', async (t) => {
    const options = optionsFor(sshd)
    const other = await keyPair(t)
    const locked = await keyPair(t, { passphrase: 'open sesame' })
    const deaf = await listen(t, () => {})
    const curt = await listen(t, (socket) => socket.destroy())
    const web = await listen(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const closed = await closedPort()
    const cases: [Partial<SshOptions>, RegExp][] = [
      [{ port: closed }, /^127\.0\.0\.1:\d+ refused the connection/],
      [
        { port: deaf, connectTimeoutMs: 200 },
        /did not answer in time: no SSH connection within 0\.2 seconds/,
      ],
      [{ port: curt }, /closed the connection|reset the connection/],
      [{ port: web }, /127\.0\.0\.1:\d+/],
      [{ privateKey: other.privateKey }, new RegExp(`does not accept the key for ${options.username}`)],
      [{ privateKey: 'not a key' }, /the private key cannot be read/],
      [{ privateKey: other.publicKey }, /the private key cannot be read/],
      [{ privateKey: locked.privateKey }, /encrypted, and no passphrase was given/],
      [{ hostKey: 'rubbish' }, /is not a public key/],
    ]
    for (const [change, expected] of cases) {
      const message = await rejection({ ...options, ...change })
      assert.match(message, expected)
      assert.doesNotMatch(message, /BEGIN|AAAA|sesame/)
    }
  })

  test('only the given addresses are tried, one after the other, whatever the host is called', async (t) => {
    const executor = await connected(t, sshd, {
      host: 'no-such-host.invalid',
      addresses: ['::1', '127.0.0.1'],
    })
    assert.equal((await run(executor, 'echo hello')).output, 'hello\n')
    const away = await rejection({ ...optionsFor(sshd), host: 'localhost', addresses: ['127.255.255.255'] })
    assert.match(away, /localhost:\d+/)
  })

  test('a name that cannot be resolved is reported', async (t) => {
    const { connect, close } = createConnect({
      ...LOCAL_SETTINGS,
      databaseUid: null,
      sshGuard: createSshGuard({ targets: [] }),
    })
    later(t, close)
    const { privateKey, hostKey, port, username: loginName } = optionsFor(sshd)
    const server = {
      name: 'web',
      kind: 'ssh' as const,
      host: 'no-such-host.invalid',
      port,
      loginName,
      hostKey,
    }
    const connection = await connect({ ...server, privateKey, allowLoopback: true, rootDirectory: '/' })
    assert.equal(connection.kind, 'unreachable')
    assert.match(
      connection.kind === 'unreachable' ? connection.message : '',
      /the name no-such-host\.invalid could not be resolved/,
    )
  })

  test('connecting can be cancelled', async (t) => {
    const controller = new AbortController()
    const port = await listen(t, () => controller.abort())
    const connection = await connectSsh({ ...optionsFor(sshd), port, signal: controller.signal })
    assert.deepEqual(connection, { kind: 'cancelled' })
  })

  test('a connection that is cut silently is noticed at both ends', async (t) => {
    const proxy = await startProxy(t, sshd.port)
    const executor = await connected(
      t,
      { ...sshd, port: proxy.port },
      { keepaliveMs: 200, orphanedAfterMs: 3_000 },
    )
    const token = `sleeper-${randomUUID()}`
    const { end } = await run(executor, `${START_DAEMONS} sleep 1000`, {
      environment: { TOKEN: token },
      onOutput: () => proxy.cut(),
    })
    assert.equal(end.kind, 'unreachable')
    assert.match(end.kind === 'unreachable' ? end.message : '', /was lost: it no longer answers/)
    await until(() => processesNamed(token).length === 0)
    const next = await run(executor, 'true')
    assert.equal(next.end.kind, 'unreachable')
  })

  test('a broken connection ends the command as unreachable, and its processes', async (t) => {
    const proxy = await startProxy(t, sshd.port)
    const executor = await connected(t, { ...sshd, port: proxy.port })
    const token = `sleeper-${randomUUID()}`
    const { end } = await run(executor, `${START_DAEMONS} sleep 1000`, {
      environment: { TOKEN: token },
      onOutput: () => proxy.breakOff(),
    })
    assert.equal(end.kind, 'unreachable')
    await until(() => processesNamed(token).length === 0)
  })

  test('when Gantry is killed, nothing it started survives on the target', async (t) => {
    const token = `sleeper-${randomUUID()}`
    const { onNewHostKey, ...server } = optionsFor(sshd)
    const victim = await startVictim(t, { kind: 'ssh', server, token })
    assert.equal(processesNamed(token).length, 5)
    await victim.kill()
    await until(() => processesNamed(token).length === 0)
  })

  test('what a login shell prints is not part of the output', async (t) => {
    const noisy = 'ForceCommand echo Welcome; echo careful >&2; eval "$SSH_ORIGINAL_COMMAND"'
    const executor = await connected(t, await startSshd(t, { settings: [noisy] }))
    assert.deepEqual(await run(executor, 'echo hello; exit 3'), {
      end: { kind: 'exited', code: 3 },
      output: 'hello\n',
    })
  })

  // Only the start of a login shell that is bash can be delayed; the accounts that root makes have one.
  const withBash = asRoot || userInfo().shell === '/bin/bash' ? test : () => {}
  withBash('a command is not obeyed by a login shell that was slower than the deadline', async (t) => {
    const folder = await sharedFolder(t)
    const [over, obeyed] = [join(folder, 'over'), join(folder, 'obeyed')]
    const slowly = `sleep 0.6; bash -c "$BASH_EXECUTION_STRING"; touch ${over}; exit`
    await writeFile(join(folder, '.bashrc'), `case $BASH_EXECUTION_STRING in 'exec env '*) ${slowly} ;; esac`)
    const executor = await connected(t, await startSshd(t, { settings: [`SetEnv HOME=${folder}`] }))
    const { end } = await run(executor, `touch ${obeyed}`, { timeoutMs: 100, graceMs: 0 })
    assert.deepEqual(end, { kind: 'timed-out' })
    await until(() => existsSync(over))
    assert.equal(existsSync(obeyed), false)
  })

  test('an account that cannot run bash is not reported as an unreachable server', async (t) => {
    const refusing = 'ForceCommand echo This account is currently not available.; exit 1'
    const executor = await connected(t, await startSshd(t, { settings: [refusing] }))
    const { end } = await run(executor, 'true')
    assert.equal(end.kind, 'impossible')
    assert.match(end.kind === 'impossible' ? end.message : '', /cannot run bash.*not available/)
  })

  test('another account is reached through sudo, without a password, and with its environment', async (t) => {
    const folder = await sharedFolder(t)
    // Says how it was called, and stays who it is: what sudo itself does is not ours to test.
    const standIn =
      '#!/bin/bash\n[ "$1 $2 $4" = "-n -u --" ] || exit 9\nexport BECAME="$3"; shift 4; exec "$@"\n'
    await writeFile(join(folder, 'sudo'), standIn, { mode: 0o755 })
    const server = await startSshd(t, { settings: [`SetEnv PATH=${folder}:/usr/local/bin:/usr/bin:/bin`] })
    const executor = await connected(t, server)
    const token = `sleeper-${randomUUID()}`
    const { end, output } = await run(executor, `echo $BECAME $TOKEN; ${START_DAEMONS}`, {
      runAsUser: 'deploy',
      environment: { TOKEN: token },
    })
    assert.deepEqual([end, output], [{ kind: 'exited', code: 0 }, `deploy ${token}\nup\n`])
    assert.deepEqual(processesNamed(token), [])
    const mixed = ['deploy', null, 'build', 'test', 'deploy', null].map((runAsUser) =>
      run(executor, 'sleep 0.05; echo "<$BECAME>"', { runAsUser }),
    )
    assert.deepEqual(
      (await Promise.all(mixed)).map((ran) => ran.output),
      ['<deploy>\n', '<>\n', '<build>\n', '<test>\n', '<deploy>\n', '<>\n'],
    )
  })

  const underRoot = asRoot ? test : () => {}
  underRoot('root becomes another account, and its processes do not outlive the command', async (t) => {
    // The home of root on this machine may hold start files that do anything.
    const server = await startSshd(t, { settings: [`SetEnv HOME=${await sharedFolder(t)}`] })
    const executor = await connected(t, server, { username: 'root' })
    const { name, home } = server.accounts[1]!
    const token = `sleeper-${randomUUID()}`
    const environment = { TOKEN: token }
    const { end, output } = await run(executor, `id -un; pwd; ${START_DAEMONS}`, {
      runAsUser: name,
      environment,
    })
    assert.deepEqual([end, output], [{ kind: 'exited', code: 0 }, `${name}\n${home}\nup\n`])
    assert.deepEqual(processesNamed(token), [])
    const cancelled = await run(executor, `${START_DAEMONS} sleep 1000`, {
      runAsUser: name,
      environment,
      graceMs: 100,
      ...cancelAt('up'),
    })
    assert.deepEqual(cancelled.end, { kind: 'cancelled' })
    assert.deepEqual(processesNamed(token), [])
    const signalled = await run(executor, 'kill -KILL $$', { runAsUser: name })
    assert.deepEqual(signalled.end, { kind: 'signalled', signal: 'SIGKILL' })
  })

  test('an account that may not be used is impossible, and so is an invalid name', async () => {
    for (const runAsUser of ['no-such-account', '', 'x; id', '-u', "a'b"]) {
      assert.equal((await run(remote, 'true', { runAsUser })).end.kind, 'impossible', runAsUser)
    }
  })

  test('a cancelled command waits neither for a free channel nor for its own start', async () => {
    const [busy, late] = [new AbortController(), new AbortController()]
    const began = performance.now()
    const running = Array.from({ length: 6 }, () =>
      run(remote, 'sleep 1000', { signal: busy.signal, graceMs: 60_000 }),
    )
    const queued = run(remote, 'echo hello', { signal: late.signal })
    late.abort()
    assert.deepEqual((await queued).end, { kind: 'cancelled' })
    busy.abort()
    for (const { end } of await Promise.all(running)) assert.deepEqual(end, { kind: 'cancelled' })
    assert.ok(performance.now() - began < 30_000)
  })

  test('a server that sends more than the protocol allows is disconnected', async (t) => {
    const { port, left } = await startFlood(t)
    const executor = await connected(t, { ...sshd, port }, { hostKey: null, onNewHostKey: async () => {} })
    const { end } = await run(executor, 'true', { onOutput: () => left })
    assert.match(end.kind === 'unreachable' ? end.message : end.kind, /it sent more than the protocol allows/)
  })
})

function optionsFor(sshd: Sshd): SshOptions {
  return {
    host: '127.0.0.1',
    addresses: ['127.0.0.1'],
    port: sshd.port,
    username: sshd.accounts[0]!.name,
    privateKey: sshd.privateKey,
    hostKey: sshd.hostKey,
    onNewHostKey: () => Promise.reject(new Error('the host key is known')),
    connectTimeoutMs: 20_000,
  }
}

async function connected(t: Closer, sshd: Sshd, more: Partial<SshOptions> = {}): Promise<Executor> {
  const connection = await connectSsh({ ...optionsFor(sshd), ...more })
  assert.equal(connection.kind, 'connected', JSON.stringify(connection))
  if (connection.kind !== 'connected') throw new Error('unreachable')
  later(t, () => connection.executor.close())
  return connection.executor
}

async function rejection(options: SshOptions): Promise<string> {
  const connection = await connectSsh(options)
  if (connection.kind === 'connected') await connection.executor.close()
  assert.equal(connection.kind, 'unreachable')
  return connection.kind === 'unreachable' ? connection.message : ''
}

async function sharedFolder(t: Closer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-ssh-test-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  // The account of the target must be able to write here.
  await chmod(folder, 0o777)
  return folder
}

async function keyPair(t: Closer, options: Parameters<typeof makeKey>[1] = {}) {
  const path = join(await sharedFolder(t), 'key')
  await makeKey(path, options)
  const publicKey = (await readFile(`${path}.pub`, 'utf8')).trim()
  return { path, publicKey, privateKey: await readFile(path, 'utf8') }
}

/** A port where something other than an SSH server listens. */
async function listen(t: Closer, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    onConnection(socket)
  })
  later(t, async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return listening(server)
}

async function listening(server: Pick<Server, 'listen' | 'address' | 'once'>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listening(server)
  server.close()
  await once(server, 'close')
  return port
}

/** A proxy to the server that can fail in both ways that connections fail. */
async function startProxy(t: Closer, target: number) {
  const pairs: Socket[] = []
  const port = await listen(t, (near) => {
    const far = tcpConnect(target, '127.0.0.1').on('error', () => {})
    pairs.push(near, far)
    near.pipe(far)
    far.pipe(near)
    near.on('close', () => far.destroy())
  })
  later(t, () => pairs.forEach((socket) => void socket.destroy()))
  return {
    port,
    /** Forwards nothing more, and says nothing. */
    cut() {
      for (const socket of pairs) socket.unpipe().pause()
      for (const socket of pairs) socket.removeAllListeners('close')
    },
    breakOff() {
      for (const socket of pairs) socket.destroy()
    },
  }
}

/** An SSH server that pretends to run commands, and floods the client. */
async function startFlood(t: Closer): Promise<{ port: number; left: Promise<void> }> {
  const { privateKey } = await keyPair(t)
  const left = Promise.withResolvers<void>()
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => {}).on('close', () => left.resolve())
    client.on('authentication', (attempt) => attempt.accept())
    client.on('session', (accept) => {
      accept().on('exec', (accept, _reject, { command }) => {
        const channel = accept()
        if (!command.startsWith('exec env ')) {
          channel.once('data', (line: Buffer) => channel.write(`ready ${line.toString().split(' ')[0]}\n`))
          return
        }
        Object.assign((channel as unknown as { outgoing: object }).outgoing, { window: 2 ** 31 })
        channel.write('gantry-bash-is-ready 1\n')
        // Steps that never use a window up exactly: then the library itself would drop the rest.
        for (let sent = 0; sent < 64 * 1024 * 1024; sent += 30_000) channel.write(Buffer.alloc(30_000))
      })
    })
  })
  later(t, () => server.close())
  return { port: await listening(server as unknown as Server), left: left.promise }
}
