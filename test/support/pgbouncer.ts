// A real PgBouncer in front of the test server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { testServer } from './database.ts'
import { later } from './later.ts'
import { freePort, isListening } from './ports.ts'
import { startSilentProxy } from './silent-proxy.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** Returns its port. It pools the given database under two names: `session` and `transaction`. */
export async function startPgBouncer(t: Closer, database: string): Promise<number> {
  const proxy = await startSilentProxy(t, testServer())
  const folder = await mkdtemp(join(tmpdir(), 'gantry-pgbouncer-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const port = await freePort()
  const target = `host=127.0.0.1 port=${proxy.port} dbname=${database}`
  await writeFile(join(folder, 'users'), '"gantry" ""\n')
  await writeFile(
    join(folder, 'config.ini'),
    `[databases]
session = ${target} pool_mode=session
transaction = ${target} pool_mode=transaction
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
default_pool_size = 40
`,
  )
  const child = spawn('/usr/sbin/pgbouncer', ['-q', join(folder, 'config.ini')], {
    ...ordinaryUser,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until('PgBouncer listens', 10_000, () => isListening(port))
  return port
}
