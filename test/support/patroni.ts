// A cluster of PostgreSQL that fails over by itself: two members under Patroni, which agree by etcd. All of it is
// Debian's, as scripts/test-tools.mjs has installed and unpacked it.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { later } from './later.ts'
import { killServer } from './own-postgres.ts'
import { freePort } from './ports.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

const POSTGRES = fileURLToPath(new URL('../../node_modules/.cache/postgresql-debian', import.meta.url))

export type Member = { name: string; port: number; checkPort: number; data: string }

/** Resolves when the second member has every commit of the first before it is answered. */
export async function startPatroni(t: Closer) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-patroni-'))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  await chmod(folder, 0o755)
  const shared = { etcd: await startEtcd(t, folder), bin_dir: await provideBinaries(folder) }
  const members: Member[] = []
  for (const name of ['first', 'second']) {
    const member = await startMember(t, folder, name, shared)
    members.push(member)
    await until(`${name} is in the cluster`, 60_000, async () => (await stateOf(member))?.state === 'running')
  }
  const [first, second] = members as [Member, Member]
  await until('the second is synchronous', 60_000, async () => {
    const response = await fetch(`http://127.0.0.1:${second.checkPort}/sync`).catch(() => undefined)
    return response?.status === 200
  })
  return {
    members,
    /** The PostgreSQL of the primary dies; resolves when the other one has been made the primary. */
    async failOver(): Promise<void> {
      await killServer(Number.parseInt(await readFile(join(first.data, 'postmaster.pid'), 'utf8'), 10))
      await until('the second is the primary', 60_000, async () => isPrimary(await stateOf(second)))
    },
  }
}

type State = { state: string; role: string } | undefined

async function stateOf({ checkPort }: Member): Promise<State> {
  const response = await fetch(`http://127.0.0.1:${checkPort}/patroni`).catch(() => undefined)
  return (await response?.json()) as State
}

/** Patroni before 4 has another word. */
const isPrimary = (state: State) => state?.role === 'primary' || state?.role === 'master'

async function startEtcd(t: Closer, folder: string): Promise<string> {
  const [client, peer] = [`127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const args = {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': `http://${client}`,
    'advertise-client-urls': `http://${client}`,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'unsafe-no-fsync': 'true',
  }
  await chown(folder, ordinaryUser.uid, ordinaryUser.gid)
  const options = Object.entries(args).map(([name, value]) => `--${name}=${value}`)
  await startProcess(t, join(folder, 'etcd.log'), '/usr/bin/etcd', options, {
    ETCD_UNSUPPORTED_ARCH: process.arch,
  })
  await until('etcd answers', 20_000, async () => {
    const response = await fetch(`http://${client}/health`).catch(() => undefined)
    return response?.ok
  })
  return client
}

async function startMember(
  t: Closer,
  folder: string,
  name: string,
  { etcd, bin_dir }: { etcd: string; bin_dir: string },
): Promise<Member> {
  const [port, checkPort] = [await freePort(), await freePort()]
  const data = join(folder, name)
  const settings = {
    scope: 'gantry',
    name,
    etcd3: { host: etcd },
    restapi: { listen: `127.0.0.1:${checkPort}`, connect_address: `127.0.0.1:${checkPort}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 5,
        // A primary that dies is replaced, not restarted.
        primary_start_timeout: 0,
        synchronous_mode: true,
        postgresql: { parameters: { max_connections: 200, fsync: 'off', shared_buffers: '64MB' } },
      },
      initdb: [{ encoding: 'UTF8' }, 'no-sync'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      bin_dir,
      pgpass: join(folder, `${name}.pgpass`),
      parameters: { unix_socket_directories: '' },
      authentication: { superuser: { username: 'gantry' }, replication: { username: 'gantry' } },
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      basebackup: [{ checkpoint: 'fast' }, 'no-sync'],
    },
  }
  const config = join(folder, `${name}.yml`)
  // JSON is YAML.
  await writeFile(config, JSON.stringify(settings))
  await startProcess(t, join(folder, `${name}.log`), '/usr/bin/patroni', [config], {})
  return { name, port, checkPort, data }
}

/** A copy, because the checkout may be below a folder that only root can enter. */
async function provideBinaries(folder: string): Promise<string> {
  const run = promisify(execFile)
  const copy = join(folder, 'postgresql')
  await run('cp', ['-al', POSTGRES, copy]).catch(() => run('cp', ['-a', POSTGRES, copy]))
  const versions = join(copy, 'usr/lib/postgresql')
  return join(versions, (await readdir(versions))[0]!, 'bin')
}

/** SIGTERM at the end: Patroni stops its PostgreSQL. */
async function startProcess(
  t: Closer,
  logPath: string,
  program: string,
  args: string[],
  env: Record<string, string>,
): Promise<void> {
  const log = await open(logPath, 'a')
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', program, ...args], {
    ...ordinaryUser,
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await ended
    clearTimeout(timer)
  })
}
