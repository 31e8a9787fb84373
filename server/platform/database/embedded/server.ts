// One run of the server: from spawn until it is ready, and until it exits.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { asSeenByServer, SERVER_ENVIRONMENT } from './data.ts'
import { stopLeftovers } from './leftovers.ts'
import { capLog, logPath, logSize, logTail } from './log.ts'

export type ServerPlan = {
  home: string
  data: string
  binaries: Binaries
  account: Account
  socketFolder: string
  settings: Record<string, string>
  print: (message: string) => void
  onLaunch: () => void
}

export type Server = ReturnType<typeof watch>

// Crash recovery replays up to max_wal_size of changes before the server is ready.
const READY_WITHIN_MS = 300_000
const FAST_SHUTDOWN_MS = 60_000

const SETTINGS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  cluster_name: 'gantry',
  max_connections: '100',
  shared_buffers: '256MB',
  synchronous_commit: 'on',
  max_wal_size: '2GB',
  jit: 'off',
  // Parallel queries gain little on a small machine, and fail with a container's 64 MB of /dev/shm.
  max_parallel_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Gantry receives the errors anyway; in the log, their messages and details would show values.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
}

/** Resolves when the server accepts connections. Leaves no process behind when it throws. */
export async function launchServer(plan: ServerPlan, cancelled?: AbortSignal): Promise<Server> {
  const { home, data, print } = plan
  await stopLeftovers(data, print)
  await capLog(home)
  const logStart = await logSize(home)
  const { child, server } = await spawnServer(plan)
  const exited = new AbortController()
  server.ended.then(() => exited.abort())
  const signals = [exited.signal, AbortSignal.timeout(READY_WITHIN_MS), ...(cancelled ? [cancelled] : [])]
  const ready = await waitUntilReady(data, child, AbortSignal.any(signals))
  if (ready) return server
  await server.stop()
  throw new Error(`PostgreSQL did not start (${await server.ended}): ${await logTail(home, logStart)}`)
}

async function spawnServer(plan: ServerPlan): Promise<{ child: ChildProcess; server: Server }> {
  const { home, data, account, binaries } = plan
  const linux = process.platform === 'linux'
  const settings = {
    ...SETTINGS,
    unix_socket_directories: linux ? asSeenByServer(data) : plan.socketFolder,
    ...plan.settings,
  }
  const command = [
    ...(await parentDeathWrapper(account)),
    ...[binaries.postgres, '-D', asSeenByServer(data)],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  await using log = await open(logPath(home), 'a', 0o600)
  const child = spawn(command[0]!, command.slice(1), {
    cwd: data,
    env: SERVER_ENVIRONMENT,
    stdio: ['ignore', log.fd, log.fd],
    // Its own session: Ctrl+C is for Gantry, which still needs the database while it stops.
    detached: true,
    ...account.identity,
  })
  plan.onLaunch()
  // Watched at once: a server that rejects its settings may exit before the log is closed.
  return { child, server: watch(child) }
}

/**
 * The wrapper that makes the kernel shut the server down when Gantry is killed. It already runs as the server's
 * account: a later change of account would cancel the request. Without it the next start stops the leftovers.
 */
async function parentDeathWrapper(account: Account): Promise<string[]> {
  const wrapper = ['setpriv', '--pdeathsig', 'INT']
  try {
    await promisify(execFile)(wrapper[0]!, [...wrapper.slice(1), 'true'], {
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      ...account.identity,
    })
    return wrapper
  } catch {
    return []
  }
}

function watch(child: ChildProcess) {
  const ended = once(child, 'exit').then(
    ([code, signal]) => (signal ? `signal ${signal}` : `exit code ${code}`),
    (error: Error) => error.message,
  )
  return {
    /** Resolves with the reason when the server has exited. */
    ended,
    async stop(): Promise<void> {
      child.kill('SIGINT')
      const timer = setTimeout(() => child.kill('SIGQUIT'), FAST_SHUTDOWN_MS)
      await ended
      clearTimeout(timer)
    },
  }
}

/** The server writes its state to its pid file. Reading it, instead of connecting, keeps errors out of the log. */
async function waitUntilReady(data: string, child: ChildProcess, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true
    await pause(5)
  }
  return false
}
