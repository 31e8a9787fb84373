// A real sshd on a loopback port that lets the current account in with one key.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { later } from '#test/support/later.ts'
import { asRoot, eventually, temporaryFolder } from './fixtures.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type SshHost = {
  port: number
  /** `ssh://name@127.0.0.1:port`, to be followed by an absolute path. */
  url: string
  privateKey: string
  /** The same host with another host key, as after an attack or a new installation. */
  restartAsAnother(): Promise<void>
}

export async function startSshHost(t: Closer): Promise<SshHost> {
  const folder = await temporaryFolder(t)
  if (asRoot) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
  await makeKey(join(folder, 'client'))
  const port = await freePort()
  const settings = [
    ...['ListenAddress 127.0.0.1', `Port ${port}`, `HostKey ${folder}/host`, 'PidFile none'],
    ...[
      `AuthorizedKeysFile ${folder}/client.pub`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
    ],
    ...['KbdInteractiveAuthentication no', 'PermitRootLogin prohibit-password', 'UseDNS no'],
  ]
  await writeFile(join(folder, 'sshd.conf'), `${settings.join('\n')}\n`)
  let sshd: ChildProcess | undefined
  const stop = async () => {
    if (!sshd || sshd.exitCode !== null || sshd.signalCode !== null) return
    const ended = once(sshd, 'close')
    sshd.kill('SIGTERM')
    await ended
  }
  later(t, stop)
  const start = async () => {
    await stop()
    await rm(join(folder, 'host'), { force: true })
    await makeKey(join(folder, 'host'))
    sshd = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', join(folder, 'sshd.conf')], { stdio: 'ignore' })
    await eventually('sshd listens', () => answers(port))
  }
  await start()
  return {
    port,
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    privateKey: await readFile(join(folder, 'client'), 'utf8'),
    restartAsAnother: start,
  }
}

async function makeKey(file: string): Promise<void> {
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => resolve(true)).once('error', () => resolve(false))
    socket.once('data', () => socket.destroy())
  })
}
