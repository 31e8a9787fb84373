// A real HAProxy in front of servers of PostgreSQL: connections go to the one that takes writes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { later } from './later.ts'
import { freePort, isListening } from './ports.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** `checkPort`: where an agent answers GET /primary with 200 (Patroni); without, the server itself is asked. */
type Backend = { port: number; checkPort?: number }

/** Returns its port. */
export async function startHaproxy(t: Closer, servers: readonly Backend[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-haproxy-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const port = await freePort()
  const check = servers[0]!.checkPort === undefined ? ASK_SERVER : ASK_AGENT
  const lines = servers.map(
    ({ port, checkPort }, n) =>
      `  server postgres${n} 127.0.0.1:${port} check ${checkPort === undefined ? '' : `port ${checkPort} `}inter 250ms fall 2 rise 1 on-marked-down shutdown-sessions`,
  )
  const config = join(folder, 'haproxy.cfg')
  await writeFile(
    config,
    `defaults
  mode tcp
  timeout connect 500ms
  retries 1
  option redispatch
  timeout client 1h
  timeout server 1h
listen postgres
  bind 127.0.0.1:${port}
${check.map((line) => `  ${line}`).join('\n')}
${lines.join('\n')}
`,
  )
  const child = spawn('/usr/sbin/haproxy', ['-db', '-f', config], { ...ordinaryUser, stdio: 'ignore' })
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until('HAProxy listens', 10_000, () => isListening(port))
  return port
}

const ASK_AGENT = ['option httpchk OPTIONS /primary', 'http-check expect status 200']

/** The protocol of PostgreSQL, by hand: HAProxy's own check does not ask for more than an answer. */
const ASK_SERVER = [
  'option tcp-check',
  `tcp-check send-binary ${message('', `\0\x03\0\0user\0gantry\0database\0postgres\0\0`)}`,
  `tcp-check send-binary ${message('Q', 'select pg_is_in_recovery()\0')}`,
  // One row, with the one byte "f".
  `tcp-check expect binary ${message('D', '\0\x01\0\0\0\x01f')}`,
  `tcp-check send-binary ${message('X', '')}`,
]

/** In hexadecimal: type, length, content. */
function message(type: string, content: string): string {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(4 + content.length)
  return Buffer.concat([Buffer.from(type), length, Buffer.from(content, 'latin1')]).toString('hex')
}
