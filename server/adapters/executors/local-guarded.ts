import { type ChildProcess, spawn } from 'node:child_process'
import { type CommandEnd, impossible } from './executor.ts'
import { createMarks, GUARD, openGuard } from './guard.ts'
import { createGuardPool, guardCommand } from './guard-pool.ts'
import {
  BASH,
  isRoot,
  type LocalBackend,
  type LocalTools,
  STANDARD_PATH,
  setprivArguments,
} from './local-backend.ts'
import { createPipeMaker } from './pipes.ts'
import { BASH_OPTIONS, MARK_VARIABLE } from './preamble.ts'

/** Where process namespaces are not available: each command in its own session, with a guard. */
export function createGuardedBackend(tools: LocalTools | undefined): LocalBackend {
  const marks = createMarks()
  const pipes = createPipeMaker()
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
