// A real OpenSSH server on a loopback port, with its own keys, for the duration of a test.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { later } from './later.ts'
import { freePort } from './ports.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type SshAccount = { name: string; home: string }

export type Sshd = {
  port: number
  /** `ssh-ed25519 AAAA…`, without a comment. */
  hostKey: string
  /** Accepted for all of `accounts`. */
  privateKey: string
  /** The file of public keys that are accepted for all of `accounts`. */
  authorizedKeys: string
  /** As root two targets, else the account that runs the tests. */
  accounts: SshAccount[]
  stop(): Promise<void>
  /** After `stop`: on the same port, with the same keys. */
  start(): Promise<void>
  /** Ends its connections, and leaves what they have started to itself. */
  dropConnections(): void
  /** Connections stay open, and nothing answers on them any longer. New ones work. */
  freezeConnections(): void
  thawConnections(): void
  /** Like `freezeConnections`, and new connections are answered as little. Until `thaw`. */
  freeze(): void
  thaw(): void
  /** Stops everything that its connections have started, until `wake`, which resolves when all of it has ended. */
  freezeCommands(): { wake(): Promise<void> }
}

const PROGRAM = '/usr/sbin/sshd'
const READY_WITHIN_MS = 20_000
/** Created once and kept: they are part of the machine from then on, like a package. */
const TARGETS = ['gantry-target-1', 'gantry-target-2']

const run = promisify(execFile)

type SshdOptions = {
  /** Further lines of sshd_config. */
  settings?: string[]
  /** Another accepted public key. */
  authorized?: string
}

export async function startSshd(
  t: Closer,
  { settings = [], authorized = '' }: SshdOptions = {},
): Promise<Sshd> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-sshd-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  // Each account reads its own authorized keys.
  await chmod(folder, 0o755)
  const accounts = process.getuid!() === 0 ? await targetAccounts() : [ownAccount()]
  const [hostKey, privateKey] = [join(folder, 'host'), join(folder, 'client')]
  await Promise.all([makeKey(hostKey), makeKey(privateKey)])
  const authorizedKeys = join(folder, 'authorized')
  await writeFile(authorizedKeys, `${await readFile(`${privateKey}.pub`, 'utf8')}${authorized}\n`)
  const config = join(folder, 'config')
  const launch = async (port: number) => {
    const lines = [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${authorizedKeys}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      'MaxStartups 100',
      ...settings,
    ]
    await writeFile(config, `${lines.join('\n')}\n`)
    return spawn(PROGRAM, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  }
  let server = await startOnFreePort(launch)
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of descendants(server.process.pid!)) if (isSshd(pid)) kill(pid, signal)
  }
  const stop = async () => {
    const family = descendants(server.process.pid!)
    server.process.kill('SIGCONT')
    server.process.kill('SIGTERM')
    await server.ended
    for (const pid of family) kill(pid)
  }
  later(t, stop)
  const [type, encoded] = (await readFile(`${hostKey}.pub`, 'utf8')).split(' ')
  return {
    port: server.port,
    hostKey: `${type} ${encoded}`,
    privateKey: await readFile(privateKey, 'utf8'),
    authorizedKeys,
    accounts,
    stop,
    async start() {
      const { port } = server
      server = await startOnFreePort(launch, port)
    },
    dropConnections() {
      signalAll('SIGKILL')
    },
    freezeConnections() {
      signalAll('SIGSTOP')
    },
    thawConnections() {
      signalAll('SIGCONT')
    },
    freeze() {
      server.process.kill('SIGSTOP')
      signalAll('SIGSTOP')
    },
    thaw() {
      signalAll('SIGCONT')
      server.process.kill('SIGCONT')
    },
    freezeCommands() {
      const frozen = descendants(server.process.pid!).filter((pid) => !isSshd(pid))
      for (const pid of frozen) kill(pid, 'SIGSTOP')
      return {
        async wake() {
          for (const pid of frozen) kill(pid, 'SIGCONT')
          await until('what was frozen has ended', READY_WITHIN_MS, () =>
            frozen.every((pid) => !isRunning(pid)),
          )
        },
      }
    },
  }
}

/** A key without a passphrase, unless one is given, at `path` and `path`.pub. */
export async function makeKey(path: string, { type = 'ed25519', passphrase = '' } = {}): Promise<void> {
  await run('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-C', '', '-f', path])
}

async function startOnFreePort(launch: (port: number) => Promise<ChildProcess>, wanted?: number) {
  for (let tries = 1; ; tries++) {
    const port = wanted ?? (await freePort())
    const server = await launch(port)
    const ended = once(server, 'exit')
    let output = ''
    server.stderr!.on('data', (chunk) => {
      output = (output + chunk).slice(-10_000)
    })
    const listening = new Promise<boolean>((resolve) => {
      server.stderr!.on('data', () => output.includes('Server listening') && resolve(true))
      ended.then(() => resolve(false))
      setTimeout(resolve, READY_WITHIN_MS, false).unref()
    })
    if (await listening) return { process: server, port, ended }
    server.kill('SIGKILL')
    // Another process may have taken the port meanwhile.
    if (tries === 5) throw new Error(`sshd did not start:\n${output}`)
  }
}

function ownAccount(): SshAccount {
  const { username, homedir } = userInfo()
  return { name: username, home: homedir }
}

/** Test files run concurrently, so two of them may do this at the same time. */
async function targetAccounts(): Promise<SshAccount[]> {
  await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
  for (const name of TARGETS) {
    if (homeOf(name) !== undefined) continue
    // An impossible password; without any, sshd considers the account locked.
    await run('useradd', ['-m', '-s', '/bin/bash', '-p', '*', name]).catch((error) => {
      if (homeOf(name) === undefined) throw error
    })
  }
  return TARGETS.map((name) => ({ name, home: homeOf(name)! }))
}

function homeOf(name: string): string | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.find((line) => line.startsWith(`${name}:`))?.split(':')[5]
}

/** Connections outlive the server that accepted them. */
function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number)
    return children.filter((child) => child > 0).flatMap((child) => [child, ...descendants(child)])
  } catch {
    return []
  }
}

function isSshd(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('sshd')
  } catch {
    return false
  }
}

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Already exited.
  }
}
