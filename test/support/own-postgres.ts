// Servers of PostgreSQL apart from the one of the test run: reached over TCP, and killed as a machine dies.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chmod, chown, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { chooseAccount } from '#platform/database/embedded/account.ts'
import { provideBinaries } from '#platform/database/embedded/binaries.ts'
import { SERVER_ENVIRONMENT } from '#platform/database/embedded/data.ts'
import { later } from './later.ts'
import { olderPostgres } from './older-postgres.ts'
import { freePort } from './ports.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** For servers whose data nobody keeps. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  max_connections: '200',
  shared_buffers: '64MB',
}

export type OwnPostgres = Awaited<ReturnType<typeof openOwnPostgres>>

/**
 * A folder with data, and what starts a server on it. Any local user may connect as gantry. `prepare`: the empty folder.
 * `major`: of an older version.
 */
export async function openOwnPostgres(
  t: Closer,
  copyOf?: { data: string },
  prepare?: (folder: string) => Promise<void>,
  major?: string,
) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-postgres-'))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  await prepare?.(folder)
  await chmod(folder, 0o711)
  const binaries = await provideBinaries(folder, await olderPostgres(major))
  const { uid, gid, identity } = await chooseAccount(undefined)
  const data = join(folder, 'data')
  const options = { cwd: '/', env: SERVER_ENVIRONMENT, ...identity }
  if (copyOf) await promisify(execFile)('cp', ['-a', copyOf.data, data])
  else {
    await chown(folder, uid, gid)
    const args = ['--pgdata', data, '--username', 'gantry', '--encoding', 'UTF8', '--auth', 'trust']
    await promisify(execFile)(binaries.initdb, [...args, '--no-sync', '--no-instructions'], options)
  }
  const port = await freePort()
  let child: ChildProcess | undefined

  /** One statement, on a connection of its own. */
  async function query(text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'gantry', database, ssl: false })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  async function start(settings: Record<string, string> = {}): Promise<void> {
    const all = Object.entries({ ...SETTINGS, port: String(port), ...settings })
    const log = await open(join(folder, 'log'), 'a')
    child = spawn(
      'setpriv',
      [
        ...['--pdeathsig', 'QUIT', binaries.postgres, '-D', data],
        ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      { ...options, stdio: ['ignore', log.fd, log.fd] },
    )
    await log.close()
    await until('the server answers', 30_000, () => query('select').catch(() => false)).catch(
      async (error) => {
        throw new Error(`${error.message}\n${await readFile(join(folder, 'log'), 'utf8')}`)
      },
    )
  }

  async function end(kill: (server: ChildProcess) => Promise<void>): Promise<void> {
    const server = child
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    await kill(server)
    await ended
  }
  const stop = () => end(async (server) => void server.kill('SIGINT'))
  later(t, stop)

  return {
    port,
    data,
    account: { uid, gid },
    query,
    start,
    stop,
    kill: () => end((server) => killServer(server.pid!)),
  }
}

/** All processes of a server at once: its clients hear nothing, and nothing is written any more. */
export async function killServer(postmaster: number): Promise<void> {
  process.kill(postmaster, 'SIGSTOP')
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  for (const pid of [postmaster, ...children.trim().split(' ').map(Number)]) process.kill(pid, 'SIGKILL')
}

/** A primary and a standby that has every commit before it is answered. */
export async function startReplicatedPostgres(t: Closer) {
  const primary = await openOwnPostgres(t)
  // A copy of a server that does not run is a base backup.
  const standby = await openOwnPostgres(t, primary)
  const source = `host=127.0.0.1 port=${primary.port} user=gantry application_name=standby`
  await appendFile(join(standby.data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  await appendFile(join(standby.data, 'standby.signal'), '')
  await primary.start({ synchronous_standby_names: 'standby', synchronous_commit: 'on' })
  await standby.start()
  return {
    primary,
    standby,
    /** Resolves when it takes writes. */
    promote: async () => void (await standby.query('select pg_promote(true, 30)')),
  }
}
