// What the tests of the embedded server share. Everything is real: homes, processes, accounts.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { chmod, chown, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { later } from '#test/support/later.ts'
import { type EmbeddedOptions, type PostgresConnection, startEmbeddedPostgres } from './start.ts'

export const asRoot = process.getuid?.() === 0
const NOBODY = { uid: 65534, gid: 65534 }

/** A test of what only root can do; others do not have it. */
export const testAsRoot: (name: string, run: (t: TestContext) => Promise<void>) => void = asRoot
  ? (name, run) => void test(name, run)
  : () => {}

/** A separate folder, removed after the test. */
export async function temporaryFolder(t: TestContext, owner?: { uid: number; gid: number }): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-test-')))
  if (owner) await chown(folder, owner.uid, owner.gid)
  later(t, () => rm(folder, { recursive: true, force: true }))
  return folder
}

let template: Promise<string> | undefined

/** A home whose database exists already: copied from one that is made once, as initdb takes most of a test's time. */
export async function preparedHome(t: TestContext, owner?: { uid: number; gid: number }): Promise<string> {
  template ??= makeTemplate()
  const home = await temporaryFolder(t)
  await promisify(execFile)('cp', ['-a', '--reflink=auto', `${await template}/.`, home])
  if (owner) await promisify(execFile)('chown', ['-R', `${owner.uid}:${owner.gid}`, home])
  return home
}

async function makeTemplate(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-test-template-'))
  process.once('exit', () => rmSync(home, { recursive: true, force: true }))
  await (await startEmbeddedPostgres({ home, settings: { fsync: 'off' } })).stop()
  return home
}

export async function start(t: TestContext, options: EmbeddedOptions) {
  const server = await startEmbeddedPostgres({ ...options, settings: { fsync: 'off', ...options.settings } })
  later(t, () => server.stop())
  return server
}

export async function query(
  connection: PostgresConnection,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new Client(connection)
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Tries again until it works, for ten seconds. */
export async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 10_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await pause(10)
    }
  }
}

export async function postmasterOf(home: string): Promise<number> {
  return Number.parseInt(await readFile(join(home, 'postgres/postmaster.pid'), 'utf8'), 10)
}

export function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/cwd`)
}

const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')
let linked: Promise<string> | undefined

/** The checkout may be below a folder that only root can enter: other accounts get the same files, linked elsewhere. */
export function checkoutForEveryone(): Promise<string> {
  linked ??= linkCheckout()
  return linked
}

/** The Node of a checkout: we may run on one that comes with it. */
export function nodeOf(checkout: string): string {
  return process.execPath.replace(CHECKOUT, checkout)
}

async function linkCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-test-checkout-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const parts = ['package.json', 'server', 'client', 'node_modules'].map((part) => join(CHECKOUT, part))
  const run = promisify(execFile)
  await run('cp', ['-al', ...parts, folder]).catch(() => run('cp', ['-a', ...parts, folder]))
  return folder
}

/** Another Gantry: a Node process that has started the server of this home and keeps it. */
export async function gantryProcess(
  t: TestContext,
  home: string,
  identity: { uid?: number; gid?: number } = {},
) {
  const checkout = identity.uid === undefined ? CHECKOUT : await checkoutForEveryone()
  const program = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(join(checkout, 'server/platform/database/embedded/start.ts'))})
    const server = await startEmbeddedPostgres({ home: ${JSON.stringify(home)}, settings: { fsync: 'off' } })
    process.on('SIGTERM', () => server.stop())
    console.log(JSON.stringify(server.connection))`
  const child = spawn(nodeOf(checkout), ['--input-type=module', '-e', program], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...identity,
  })
  const ended = once(child, 'exit')
  later(t, async () => {
    child.kill('SIGTERM')
    await ended
  })
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => [])])
  if (typeof line !== 'string') throw new Error('the other Gantry did not start')
  return { child: child as ChildProcess, ended, connection: JSON.parse(line) as PostgresConnection }
}

/** Ourselves, or nobody when we are root. */
export const ordinaryUser = asRoot ? NOBODY : { uid: process.getuid!(), gid: process.getgid!() }
