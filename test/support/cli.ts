// `gantry` as people run it: the built file, in a process of its own, on the Node that the machine has.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { later } from './later.ts'

export const CLI = fileURLToPath(new URL('../../cli/dist/gantry.mjs', import.meta.url))
/** The Node that runs npm is the user's own; the tests themselves run on the project's. */
export const USERS_NODE = process.env.npm_node_execpath ?? process.execPath

export type Ended = { code: number | null; stdout: string; stderr: string }

type Options = {
  input?: string
  /** Leaves stdin open, as a terminal does. */
  keepsInput?: boolean
  env?: Record<string, string>
  cwd?: string
  signal?: AbortSignal
}

/** A folder for PATH in which `gantry` is the built file. */
export async function installCommand(t: { after(fn: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-bin-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'gantry'), `#!/bin/sh\nexec '${USERS_NODE}' '${CLI}' "$@"\n`, { mode: 0o755 })
  return folder
}

/** Somebody's terminal without a terminal: a config folder of its own, and the environment given. */
export async function openShell(
  t: { after(fn: () => Promise<void>): void },
  env: Record<string, string> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-cli-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  const ownEnv = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    GANTRY_CONFIG_DIR: join(folder, 'config'),
    ...env,
  }

  /** Starts `gantry` with piped output; `ended` resolves when it has ended. */
  function start(args: string[], options: Options = {}) {
    const child = spawn(USERS_NODE, [CLI, ...args], {
      cwd: options.cwd ?? folder,
      env: { ...ownEnv, ...options.env },
      signal: options.signal,
    })
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text
      })
    child.stdin.on('error', () => {})
    if (!options.keepsInput) child.stdin.end(options.input ?? '')
    const { promise: ended, resolve, reject } = Promise.withResolvers<Ended>()
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...output }))
    later(t, async () => {
      if (child.exitCode === null) child.kill('SIGKILL')
      await ended.catch(() => {})
    })
    return { child, output, ended }
  }

  return {
    folder,
    env: ownEnv,
    start,
    gantry: (args: string[], options?: Options): Promise<Ended> => start(args, options).ended,
  }
}
