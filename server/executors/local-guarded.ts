// A local command where there are no process namespaces: in a session of its own, with a guard.

import { spawn } from 'node:child_process'
import type { LaunchedCommand } from './conduct.ts'
import type { CommandEnd } from './executor.ts'
import { GUARD, openGuard } from './guard.ts'
import { createGuardPool, type GuardPool } from './guard-pool.ts'
import { guardCommand } from './guarded.ts'
import { BASH, type LocalLaunch, type LocalTools, STANDARD_PATH, type SwitchTo } from './local-tools.ts'
import { BASH_OPTIONS, MARK_VARIABLE } from './preamble.ts'
import { mainEnd } from './spawned.ts'

export type LocalGuards = GuardPool<null>

export function createLocalGuards(marks: string): LocalGuards {
  return createGuardPool<null>(Number.POSITIVE_INFINITY, async (key) => {
    const [uid, gid] = key.split(':').map(Number)
    const guard = spawn(BASH, ['--norc', '-c', GUARD], {
      cwd: '/',
      // A signal to Gantry's process group is not for the guard.
      detached: true,
      env: { PATH: STANDARD_PATH },
      stdio: ['pipe', 'pipe', 'ignore'],
      ...(process.getuid!() === 0 && { uid, gid }),
    })
    const end = mainEnd(guard)
    const opened = await openGuard(guard.stdin, guard.stdout, { marks, silence: null })
    if (typeof opened !== 'string') return { guard: opened, extra: null }
    const { kind } = await end
    return { kind: 'impossible', message: `the guard of local commands could not be started (${kind})` }
  })
}

export async function launchGuarded(
  guards: LocalGuards,
  tools: LocalTools | undefined,
  { switchTo, environment, pipes, mark }: LocalLaunch,
): Promise<LaunchedCommand | CommandEnd> {
  const takeGuard = () => guards.take(guardKey(switchTo))
  const lease = await takeGuard()
  if (!('guard' in lease)) return lease
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
  return { stdin, stdout, ended: mainEnd(main), ...guardCommand(lease, mark, takeGuard) }
}

function guardKey(switchTo: SwitchTo | null): string {
  return `${switchTo?.uid ?? process.getuid!()}:${switchTo?.gid ?? process.getgid!()}`
}
