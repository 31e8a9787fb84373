// Other webhook receivers, if they are installed on this machine. Debian's `webhook` is installed where that is possible.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '#test/support/ports.ts'
import type { Push } from './push.ts'
import type { Workbench } from './workbench.ts'

export type Peer = {
  port: number
  /** The URL that accepts the push. */
  path: string
  /** CPU time that it and the programs it ran have taken. */
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

/** Undefined when the program, or something that it needs, is not installed. */
export type StartPeer = (workbench: Workbench, push: Push, secret: string) => Promise<Peer | undefined>

const READY_WITHIN_MS = 60_000
const ENDED_WITHIN_MS = 10_000

/** Debian's webhook: checks the signature, runs a command, stores nothing. */
export const startWebhook: StartPeer = async (workbench, push, secret) => {
  const program = (await findProgram('webhook')) ?? (await installWebhook())
  if (!program) return undefined
  const file = join(await workbench.makeFolder(), 'hooks.json')
  const parameter = { source: 'header', name: 'X-Hub-Signature-256' }
  const rule = { match: { type: 'payload-hmac-sha256', secret, parameter } }
  const hook = {
    id: 'push',
    'execute-command': '/bin/true',
    'trigger-rule': rule,
    // Otherwise a wrong signature would get the same response as a valid one.
    'trigger-rule-mismatch-http-response-code': 403,
  }
  await writeFile(file, JSON.stringify([hook]))
  const port = await freePort()
  const child = run(workbench, program, ['-hooks', file, '-ip', '127.0.0.1', '-port', String(port)])
  return ready({ child, port, path: '/hooks/push' }, push)
}

/** Node-RED: a flow of three nodes that answers; it checks and stores nothing. */
export const startNodeRed: StartPeer = async (workbench, push) => {
  const program = await findProgram('node-red')
  if (!program) return undefined
  const folder = await workbench.makeFolder()
  const port = await freePort()
  const answer = { t: 'set', p: 'payload', pt: 'msg', to: '{}', tot: 'json' }
  const nodes = [
    { id: 'in', type: 'http in', url: '/push', method: 'post', wires: [['set']] },
    { id: 'set', type: 'change', rules: [answer], wires: [['out']] },
    { id: 'out', type: 'http response', statusCode: '202', wires: [] },
  ]
  const flows = [{ id: 'tab', type: 'tab', label: 'push' }, ...nodes.map((node) => ({ ...node, z: 'tab' }))]
  await writeFile(join(folder, 'flows.json'), JSON.stringify(flows))
  const settings = {
    flowFile: 'flows.json',
    uiHost: '127.0.0.1',
    uiPort: port,
    httpAdminRoot: false,
    credentialSecret: false,
    telemetry: { enabled: false },
    logging: { console: { level: 'fatal' } },
  }
  const file = join(folder, 'settings.js')
  await writeFile(file, `module.exports = ${JSON.stringify(settings)}`)
  const child = run(workbench, program, ['--userDir', folder, '--settings', file])
  return ready({ child, port, path: '/push' }, push)
}

/** Restate: a durable send to a service that does nothing, made with the SDK installed next to it. */
export const startRestate: StartPeer = async (workbench, push) => {
  const program = await findProgram('restate-server')
  const sdk = await globalPackage('@restatedev/restate-sdk')
  if (!program || !sdk) return undefined
  const folder = await workbench.makeFolder()
  const [port, adminPort, nodePort, servicePort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const file = join(folder, 'service.cjs')
  const service = `{ name: 'push', handlers: { push: async () => {} } }`
  await writeFile(
    file,
    `const restate = require(${JSON.stringify(sdk)})
    restate.endpoint().bind(restate.service(${service})).listen(${servicePort})`,
  )
  run(workbench, process.execPath, [file])
  const child = run(workbench, program, ['--base-dir', folder], {
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: `127.0.0.1:${nodePort}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${port}`,
    RESTATE_DISABLE_TELEMETRY: 'true',
  })
  const deployment = {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${servicePort}` }),
  }
  await ready({ child, port: adminPort, path: '/deployments' }, deployment)
  return ready({ child, port, path: '/push/push/send' }, push)
}

/** Waits until a peer has finished its deferred work, so that it does not slow down the next measurement. */
export async function untilIdle({ cpuMs }: Peer): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) {
    const before = await cpuMs()
    await pause(100)
    if ((await cpuMs()) - before <= 10) return
  }
}

/** As root, from Debian. */
async function installWebhook(): Promise<string | undefined> {
  const apt = await findProgram('apt-get')
  if (process.getuid?.() !== 0 || !apt) return undefined
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () =>
    promisify(execFile)(apt, ['install', '-y', '-qq', '--no-install-recommends', 'webhook'], { env })
  await install()
    .catch(() => promisify(execFile)(apt, ['update', '-qq'], { env }).then(install))
    .catch((error: Error) => console.error(`ingest-peer: ${error.message}`))
  return findProgram('webhook')
}

async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name)
    if (folder !== '' && (await isThere(file, constants.X_OK))) return file
  }
  return undefined
}

async function globalPackage(name: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)('npm', ['root', '--global']).catch(() => ({ stdout: '' }))
  const folder = join(stdout.trim(), name)
  return stdout !== '' && (await isThere(folder, constants.R_OK)) ? folder : undefined
}

const isThere = (file: string, mode: number) =>
  access(file, mode).then(
    () => true,
    () => false,
  )

function run(
  workbench: Workbench,
  program: string,
  argv: string[],
  environment: Record<string, string> = {},
): ChildProcess {
  const { PATH, HOME } = process.env
  const child = spawn(program, argv, { env: { PATH, HOME, ...environment }, stdio: 'ignore' })
  child.on('error', () => {})
  workbench.defer(() => endOf(child))
  return child
}

/** Ready means that it accepts a push: some listen before they can handle one. */
async function ready(
  { child, port, path }: { child: ChildProcess; port: number; path: string },
  push: Push,
): Promise<Peer> {
  const deadline = performance.now() + READY_WITHIN_MS
  const url = `http://127.0.0.1:${port}${path}`
  for (;;) {
    const answer = await fetch(url, { method: 'POST', ...push }).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return { port, path, cpuMs: () => cpuMsOf(child.pid), stop: () => endOf(child) }
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(
        `${child.spawnfile} does not accept calls at ${url} (${answer?.status ?? 'no response'})`,
      )
    await pause(100)
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const impatience = setTimeout(() => child.kill('SIGKILL'), ENDED_WITHIN_MS)
  await ended
  clearTimeout(impatience)
}

const TICK_MS = 10

/** From /proc; 0 where there is none. Children that have ended count. */
async function cpuMsOf(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
}
