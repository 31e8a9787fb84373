// A local command in a process namespace of its own.
//
//   Gantry ─┬─ unshare ── keeper, the first process of the namespace
//           └─ nsenter ── the command, in a session of its own
//
// nsenter stands outside and ends exactly as the command did, by its exit code or by its signal.

import { spawn } from 'node:child_process'
import { atMost } from './at-most.ts'
import type { LaunchedCommand } from './conduct.ts'
import type { Impossible } from './executor.ts'
import { BASH, isRoot, type LocalLaunch, type LocalTools, type SwitchTo } from './local-tools.ts'
import { GIVE_UP_AFTER_MS, type Namespaces } from './namespaces.ts'
import { BASH_OPTIONS } from './preamble.ts'
import { mainEnd } from './spawned.ts'

export async function launchInNamespace(
  namespaces: Namespaces,
  tools: LocalTools,
  { switchTo, environment, pipes }: Omit<LocalLaunch, 'mark'>,
): Promise<LaunchedCommand | Impossible> {
  const namespace = await namespaces.take()
  if ('kind' in namespace) return namespace
  const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
  const entrance = [
    `--target=${namespace.keeper}`,
    ...['--pid', '--mount'],
    ...(isRoot() ? [] : ['--user', '--preserve-credentials']),
    ...identity(tools, switchTo),
  ]
  const nsenter = spawn(tools.nsenter, [...entrance, tools.setsid, BASH, ...BASH_OPTIONS], {
    cwd: '/',
    detached: true,
    env: environment,
    stdio: [commandStdin, commandStdout, commandStdout],
  })
  handedOver()
  namespaces.prepare()
  const ended = mainEnd(nsenter)
  return {
    stdin,
    stdout,
    ended,
    async terminate() {
      namespace.terminate()
      await namespace.gone
    },
    async kill() {
      namespace.end()
      // When a command stops itself, nsenter stops too, and would not notice the end.
      nsenter.kill('SIGCONT')
      await atMost(GIVE_UP_AFTER_MS, namespace.gone)
      nsenter.kill('SIGKILL')
      await ended
    },
  }
}

/** Who the command runs as, in the words of nsenter, whose switch drops all supplementary groups, or of setpriv. */
function identity(tools: LocalTools, switchTo: SwitchTo | null): string[] {
  if (!switchTo) return []
  const { uid, gid, groups } = switchTo
  return groups
    ? [tools.setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--init-groups']
    : [`--setuid=${uid}`, `--setgid=${gid}`]
}
