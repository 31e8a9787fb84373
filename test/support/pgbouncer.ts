// A real PgBouncer with the configuration of docs/scaling.md.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { later } from './later.ts'
import { freePort, isListening } from './ports.ts'
import { relocate, scalingSnippet } from './snippets.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

/**
 * In front of the server at this port; returns its own port. Every database has its name, and one more name that pools by
 * transaction: `transaction`.
 */
export async function startPgBouncer(t: Closer, serverPort: number, database: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-pgbouncer-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const port = await freePort()
  const snippet = relocate(await scalingSnippet('pool_mode = session'), {
    'host=127.0.0.1 port=5000': `host=127.0.0.1 port=${serverPort}`,
  })
  await writeFile(join(folder, 'users'), '"gantry" ""\n')
  await writeFile(
    join(folder, 'config.ini'),
    `${snippet}
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
[databases]
transaction = host=127.0.0.1 port=${serverPort} dbname=${database} pool_mode=transaction
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
