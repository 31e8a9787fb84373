// One run of the server: from spawn until it is ready, and to its end.

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
  say: (message: string) => void
}

export type Server = {
  /** Resolves, with the reason, when the server has gone. */
  ended: Promise<string>
  stop(): Promise<void>
}

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
  // Parallel queries gain little on a small machine, and a container's 64 MB of /dev/shm make them fail.
  max_parallel_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Errors come back to Gantry as answers anyway; in the log their texts would show values. So would details.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
}

/** Resolves when the server takes connections. Leaves no process behind when it throws. */
export async function launchServer(plan: ServerPlan, cancelled?: AbortSignal): Promise<Server> {
  const { home, data, say } = plan
  await stopLeftovers(data, say)
  await capLog(home)
  const logStart = await logSize(home)
  const { child, server } = await spawnServer(plan)
  const giveUp = new AbortController()
  server.ended.then(() => giveUp.abort())
  const signals = [giveUp.signal, AbortSignal.timeout(READY_WITHIN_MS), ...(cancelled ? [cancelled] : [])]
  const ready = await becomesReady(data, child, AbortSignal.any(signals))
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
    ...(await diesWithUs(account)),
    ...[binaries.postgres, '-D', asSeenByServer(data)],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const log = await open(logPath(home), 'a', 0o600)
  try {
    const child = spawn(command[0]!, command.slice(1), {
      cwd: data,
      env: SERVER_ENVIRONMENT,
      stdio: ['ignore', log.fd, log.fd],
      // Its own session: Ctrl+C is for Gantry, which still needs the database while it ends.
      detached: true,
      ...account.identity,
    })
    // Followed at once: a server that refuses its settings may have ended before the log is closed.
    return { child, server: follow(child) }
  } finally {
    await log.close()
  }
}

/**
 * The wrapper that makes the kernel shut the server down when Gantry is killed. It runs as the server's account
 * already: a change of account after it would undo the request. Without it the next start stops what was left.
 */
async function diesWithUs(account: Account): Promise<string[]> {
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

function follow(child: ChildProcess): Server {
  const ended = once(child, 'exit').then(
    ([code, signal]) => (signal ? `signal ${signal}` : `exit code ${code}`),
    (error: Error) => error.message,
  )
  return {
    ended,
    async stop() {
      child.kill('SIGINT')
      const impatience = setTimeout(() => child.kill('SIGQUIT'), FAST_SHUTDOWN_MS)
      await ended
      clearTimeout(impatience)
    },
  }
}

/** The server notes its state in its pid file. Asking there, not by connecting, keeps refusals out of the log. */
async function becomesReady(data: string, child: ChildProcess, giveUp: AbortSignal): Promise<boolean> {
  while (!giveUp.aborted) {
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true
    await pause(5)
  }
  return false
}
