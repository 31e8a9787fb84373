// How local commands are started: the contract of the two backends, the programs they use, and the backend that works
// everywhere. `namespaces.ts` has the other; `prewarmed.ts` keeps a bash ready in front of either.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type CommandEnd, impossible } from './executor.ts'
import { createMarks, GUARD, openGuard } from './guard.ts'
import { createGuardPool, guardCommand } from './guard-pool.ts'
import type { View } from './hidden.ts'
import { createPipeMaker } from './pipes.ts'
import { BASH, BASH_OPTIONS, MARK_VARIABLE, STANDARD_PATH } from './preamble.ts'
import type { LaunchedCommand } from './supervise.ts'

/** Another account to run under, which requires root. `groups`: with its supplementary groups. */
export type SwitchTo = { uid: number; gid: number; groups: boolean }

/** What a local command starts with: the environment of its account, nothing of ours, and its view of the files. */
export type LocalLaunch = { switchTo: SwitchTo | null; environment: Record<string, string>; view: View }

/** Starts local commands in a way that leaves none of their processes behind. */
export type LocalBackend = {
  launch(launch: LocalLaunch): Promise<LaunchedCommand | CommandEnd>
  /** Call when commands no longer run. */
  close(): Promise<void>
}

const TOOLS = ['unshare', 'nsenter', 'setpriv', 'setsid'] as const

/** Programs of util-linux. They run as root, so no account's PATH decides which they are. */
export type LocalTools = Record<(typeof TOOLS)[number], string>

export function findLocalTools(): LocalTools | undefined {
  const found = TOOLS.map((name) => [
    name,
    ['/usr/bin', '/bin'].map((dir) => `${dir}/${name}`).find(existsSync),
  ])
  return found.every(([, path]) => path) ? (Object.fromEntries(found) as LocalTools) : undefined
}

export function isRoot(): boolean {
  return process.getuid!() === 0
}

/** Switches accounts and takes the supplementary groups of the new one, which Node and nsenter would drop. */
export function setprivArguments({ setpriv }: LocalTools, { uid, gid }: SwitchTo): string[] {
  return [setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--init-groups']
}

/** Where namespaces are not available: each command in its own session, with a guard. Hides nothing. */
export function createGuardedBackend(tools: LocalTools | undefined, pipesFolder: string): LocalBackend {
  const marks = createMarks()
  const pipes = createPipeMaker([pipesFolder])
  const guards = createGuardPool(Number.POSITIVE_INFINITY, async (key) => {
    const [uid, gid] = key.split(':').map(Number)
    const guard = spawn(BASH, ['--norc', '-c', GUARD], {
      cwd: '/',
      // A signal to Gantry's process group is not for the guard.
      detached: true,
      env: { PATH: STANDARD_PATH },
      stdio: ['pipe', 'pipe', 'ignore'],
      ...(isRoot() && { uid, gid }),
    })
    const ended = endOf(guard)
    const opened = await openGuard(guard.stdin, guard.stdout, { marks: marks.prefix, silence: null })
    if (typeof opened !== 'string') return opened
    return impossible(`the guard of local commands could not be started (${(await ended).kind})`)
  })

  return {
    async launch({ switchTo, environment }) {
      const { uid, gid } = switchTo ?? { uid: process.getuid!(), gid: process.getgid!() }
      const acquireGuard = () => guards.acquire(`${uid}:${gid}`)
      const lease = await acquireGuard()
      if (!('guard' in lease)) return lease
      const mark = marks.next()
      const bySetpriv = switchTo?.groups === true && tools !== undefined
      const [program, ...args] = bySetpriv ? [...setprivArguments(tools, switchTo), BASH] : [BASH]
      const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
      const main = spawn(program!, [...args, ...BASH_OPTIONS], {
        cwd: '/',
        detached: true,
        env: { ...environment, [MARK_VARIABLE]: mark },
        stdio: [commandStdin, commandStdout, commandStdout],
        // Without setpriv, Node drops all supplementary groups.
        ...(switchTo && !bySetpriv && { uid, gid }),
      })
      handedOver()
      return { stdin, stdout, ended: endOf(main), ...guardCommand(lease, mark, acquireGuard) }
    },
    async close() {
      await guards.close()
      await pipes.close()
    },
  }
}

/** Resolves at the end of the process, not at the end of its output. */
function endOf(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(impossible(`the command could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { kind: 'exited', code: code! } : { kind: 'signalled', signal })
    })
  })
}
