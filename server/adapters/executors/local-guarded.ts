import { type ChildProcess, spawn } from 'node:child_process'
import type { Marks } from './create-executor.ts'
import type { CommandEnd } from './executor.ts'
import { GUARD, openGuard } from './guard.ts'
import { createGuardPool, type GuardPool } from './guard-pool.ts'
import { guardCommand } from './guarded.ts'
import { BASH, isRoot, type LocalTools, type LocalWay, STANDARD_PATH, type SwitchTo } from './local-tools.ts'
import { createPipeMaker } from './pipes.ts'
import { BASH_OPTIONS, MARK_VARIABLE } from './preamble.ts'

/** Where there are no process namespaces: each command in a session of its own, with a guard. */
export function createGuardedWay(tools: LocalTools | undefined, marks: Marks): LocalWay {
  const guards = createLocalGuards(marks.beginning)
  const pipes = createPipeMaker()
  return {
    async launch({ switchTo, environment }) {
      const takeGuard = () => guards.take(guardKey(switchTo))
      const lease = await takeGuard()
      if (!('guard' in lease)) return lease
      const mark = marks.next()
      const byTool = switchTo?.groups === true && tools !== undefined
      const [program, ...args] = byTool
        ? [tools.setpriv, `--reuid=${switchTo.uid}`, `--regid=${switchTo.gid}`, '--init-groups', BASH]
        : [BASH]
      const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
      const main = spawn(program!, [...args, ...BASH_OPTIONS], {
        cwd: '/',
        detached: true,
        env: { ...environment, [MARK_VARIABLE]: mark },
        stdio: [commandStdin, commandStdout, commandStdout],
        // Without the tool Node drops all supplementary groups.
        ...(switchTo && !byTool && { uid: switchTo.uid, gid: switchTo.gid }),
      })
      handedOver()
      return { stdin, stdout, ended: endOf(main), ...guardCommand(lease, mark, takeGuard) }
    },
    async close() {
      await guards.close()
      await pipes.close()
    },
  }
}

function createLocalGuards(marks: string): GuardPool<null> {
  return createGuardPool<null>(Number.POSITIVE_INFINITY, async (key) => {
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
    const opened = await openGuard(guard.stdin, guard.stdout, { marks, silence: null })
    if (typeof opened !== 'string') return { guard: opened, extra: null }
    const { kind } = await ended
    return { kind: 'impossible', message: `the guard of local commands could not be started (${kind})` }
  })
}

function guardKey(switchTo: SwitchTo | null): string {
  return `${switchTo?.uid ?? process.getuid!()}:${switchTo?.gid ?? process.getgid!()}`
}

/** Told at the end of the process, and not at the end of its output. */
function endOf(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ kind: 'impossible', message: `the command could not be started: ${error.message}` })
    })
    child.once('exit', (code, signal) => {
      resolve(signal === null ? { kind: 'exited', code: code! } : { kind: 'signalled', signal })
    })
  })
}
