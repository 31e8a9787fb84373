// A real HAProxy with the configurations of docs/scaling.md.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { ordinaryUser } from '#platform/database/embedded/fixtures.ts'
import { makeCertificates } from './certificates.ts'
import { later } from './later.ts'
import { freePort, isListening } from './ports.ts'
import { relocate, scalingSnippet } from './snippets.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** `checkPort`: where an agent answers OPTIONS /primary with 200 (Patroni); without, there will be such an agent. */
type Member = { port: number; checkPort?: number }

/** In front of a primary and its standby: connections go to the one that takes writes. Returns its port. */
export async function startPostgresProxy(t: Closer, members: readonly Member[]): Promise<number> {
  const port = await freePort()
  const [first, second] = await Promise.all(
    members.map(async (one) => ({ ...one, checkPort: one.checkPort ?? (await startAgent(t, one.port)) })),
  )
  const config = relocate(await scalingSnippet('listen postgres'), {
    '127.0.0.1:5000': `127.0.0.1:${port}`,
    '10.0.0.1:5432 check port 8008': `127.0.0.1:${first!.port} check port ${first!.checkPort}`,
    '10.0.0.2:5432 check port 8008': `127.0.0.1:${second!.port} check port ${second!.checkPort}`,
  })
  await startHaproxy(t, config, port)
  return port
}

/** In front of two API processes, with TLS. */
export async function startApiProxy(t: Closer, ports: readonly [number, number]) {
  const port = await freePort()
  const { authority, certificate, key } = await makeCertificates(t)
  const both = join(certificate, '../both.pem')
  await writeFile(both, [await readFile(certificate), await readFile(key)].join('\n'))
  await chown(both, ordinaryUser.uid, ordinaryUser.gid)
  const config = relocate(await scalingSnippet('frontend gantry'), {
    'bind :443': `bind 127.0.0.1:${port}`,
    '/etc/haproxy/gantry.pem': both,
    '10.0.0.1:7070': `127.0.0.1:${ports[0]}`,
    '10.0.0.2:7070': `127.0.0.1:${ports[1]}`,
  })
  const { ask } = await startHaproxy(t, config, port)
  return {
    url: `https://localhost:${port}`,
    authority: await readFile(authority, 'utf8'),
    /** How many of the servers that it checks are up. */
    async countUp(): Promise<number> {
      const [head, ...rows] = (await ask('show stat')).trim().split('\n')
      const at = (column: string) => head!.replace('# ', '').split(',').indexOf(column)
      return rows
        .map((row) => row.split(','))
        .filter((row) => row[at('bck')] === '0' && row[at('type')] === '2' && row[at('status')] === 'UP')
        .length
    },
  }
}

async function startHaproxy(t: Closer, config: string, port: number) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-haproxy-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chown(folder, ordinaryUser.uid, ordinaryUser.gid)
  const [file, socket] = [join(folder, 'haproxy.cfg'), join(folder, 'socket')]
  await writeFile(file, `global\n  stats socket ${socket}\n${config}`)
  const child = spawn('/usr/sbin/haproxy', ['-db', '-f', file], {
    ...ordinaryUser,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let messages = ''
  child.stderr.on('data', (chunk) => {
    messages += chunk
  })
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until('HAProxy listens', 10_000, () => isListening(port)).catch((error: Error) => {
    throw new Error(`${error.message}\n${messages}`)
  })
  return {
    async ask(command: string): Promise<string> {
      const client = connect(socket)
      client.end(`${command}\n`)
      return text(client)
    },
  }
}

/** Answers as Patroni does. Returns its port. */
async function startAgent(t: Closer, port: number): Promise<number> {
  const agent = createServer(async (_request, response) => {
    response.statusCode = (await isPrimary(port)) ? 200 : 503
    response.end()
  }).listen(0, '127.0.0.1')
  await once(agent, 'listening')
  later(t, () => agent.close())
  return (agent.address() as AddressInfo).port
}

async function isPrimary(port: number): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'gantry', database: 'postgres', ssl: false })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query('select pg_is_in_recovery() as is_standby')
    return rows[0].is_standby === false
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
