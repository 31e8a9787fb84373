// Gantry as an operator runs it: a separate process.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { nodeOf } from '#platform/database/embedded/fixtures.ts'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type GantryProcess = {
  /** Undefined for a worker. */
  url: string | undefined
  /** Everything it has printed for the operator so far. */
  output: string[]
  /** The log, line by line. */
  log: string[]
  child: ChildProcess
  readyAfterMs: number
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  /** kill -9. */
  kill(): Promise<void>
}

/** As `npm start` does, from a bundle: sources take three times as long. */
const RUN_BUNDLE = fileURLToPath(new URL('../../scripts/run-bundle.mjs', import.meta.url))
const READY_WITHIN_MS = 60_000

/** The environment of programs that run from their sources: what the tests have compiled is not compiled again. */
const { PATH, NODE_COMPILE_CACHE } = process.env
export const FROM_SOURCES = { PATH, NODE_COMPILE_CACHE: NODE_COMPILE_CACHE && resolve(NODE_COMPILE_CACHE) }

export async function temporaryHome(t: Closer): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'gantry-home-'))
  later(t, () => rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return home
}

/** `as`: under another account, with a command line in front and a copy of the checkout that it can read. */
type As = { uid: number; gid: number; checkout: string; wrapper?: string[] }

/** Another program than this checkout's, and its arguments. */
export type Program = [string, ...string[]]

/** Resolves when it is ready; rejects with its output when it exits instead. */
export async function startGantry(
  t: Closer,
  environment: Record<string, string>,
  as?: As,
  other?: Program,
): Promise<GantryProcess> {
  const own = as ? [nodeOf(as.checkout), join(as.checkout, 'server/main.ts')] : await ownProgram()
  const [program, ...args] = other ?? [...(as?.wrapper ?? []), ...own]
  const startedAt = performance.now()
  const child = spawn(program!, args, {
    ...(as && { uid: as.uid, gid: as.gid, cwd: '/' }),
    env: { PATH: process.env.PATH, PORT: '0', LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  const log: string[] = []
  createInterface(child.stderr!).on('line', (line) => log.push(line))
  const ended = once(child, 'close')
  later(t, async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
  })
  const ready = Promise.withResolvers<void>()
  createInterface(child.stdout!).on('line', (line) => {
    output.push(line)
    if (/^gantry (worker )?ready/.test(line)) ready.resolve()
  })
  const timer = setTimeout(() => ready.reject(new Error('not ready in time')), READY_WITHIN_MS)
  await Promise.race([ready.promise, ended.then(() => Promise.reject(new Error('it exited')))])
    .catch((error: Error) => {
      throw new Error(`Gantry did not start (${error.message}):\n${[...output, ...log].join('\n')}`)
    })
    .finally(() => clearTimeout(timer))
  return {
    url: output
      .find((line) => line.startsWith('gantry ready'))
      ?.split(' ')
      .at(-1),
    output,
    log,
    child,
    readyAfterMs: performance.now() - startedAt,
    async stop() {
      child.kill('SIGTERM')
      await ended
      return child.exitCode
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** This checkout's, bundled. */
export async function ownProgram(): Promise<Program> {
  const { bundle } = await import('../../scripts/build-server.mjs')
  if (bundle === undefined) throw new Error('the server was not bundled: see above')
  return [process.execPath, RUN_BUNDLE, bundle]
}

/** Calls the API of a process. */
export async function call(
  gantry: { url?: string },
  method: string,
  path: string,
  options: { token?: string; body?: unknown } = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
): Promise<{ status: number; headers: Headers; body: any }> {
  const response = await fetch(`${gantry.url}${path}`, {
    method,
    headers: {
      ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
      ...(options.body !== undefined && { 'content-type': 'application/json' }),
    },
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' }
export const ADMIN_ENVIRONMENT = { GANTRY_ADMIN_EMAIL: ADMIN.email, GANTRY_ADMIN_PASSWORD: ADMIN.password }

export async function logInAsAdmin(gantry: { url?: string }): Promise<string> {
  const { body } = await call(gantry, 'POST', '/users/login', { body: ADMIN })
  return body.access_token
}
