// Local commands in namespaces, each in a sandbox that no other command is in: whatever it does to detach itself, nothing of
// it is left when the next one starts; and a command sees neither the processes nor the files of Gantry. `view.ts` says what a
// view hides, `sandbox-pool.ts` has the sandboxes, and this file launches a command in one.

import { constants } from 'node:os'
import { type CommandEnd, unreachable } from './executor.ts'
import { type Report, signalIfAlive } from './launcher.ts'
import { type LocalBackend, type LocalTools, type SwitchTo, setprivArguments } from './local-backend.ts'
import { createPipeMaker, type Pipes } from './pipes.ts'
import { createSandboxPool, type TakenSandbox } from './sandbox-pool.ts'
import { KILL_TIMEOUT_MS, type LaunchedCommand, waitAtMost } from './supervise.ts'

/** The exit code when not only the command was killed, but setsid, too. */
const SETSID_KILLED = 137

/** nsenter stops when it notices that what it waits for has stopped, which may be later than the signal. */
const REVIVE_MS = 200

/** Every view has its own. On a disk, creating and removing named pipes takes a tenth of the time of a small command. */
const MEMORY = '/dev/shm'

/** Each command in namespaces that no other command is in. Only trying shows whether this machine allows it. */
export function createNamespaceBackend(tools: LocalTools, pipesFolder: string): LocalBackend {
  const sandboxes = createSandboxPool(tools)
  const allPipes = createPipeMaker([MEMORY, pipesFolder], sandboxes.makeFifos)

  return {
    async launch({ switchTo, environment, view }) {
      const pipes = await allPipes.take()
      const account = accountArguments(tools, switchTo)
      const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
      const request = { view, account: account.join(' '), asRoot: switchTo?.uid === 0 }
      const launched = await sandboxes.take(request, (taken) =>
        launchIn(taken, pipes, [...variables, '--', ...account]),
      )
      if ('kind' in launched) {
        pipes.stdin.destroy()
        pipes.stdout.destroy()
        pipes.handedOver()
      }
      return launched
    },
    async close() {
      await allPipes.close()
      await sandboxes.close()
    },
  }
}

/** `words`: the variables of the command, and what switches to its account. */
function launchIn(taken: TakenSandbox, pipes: Pipes, words: string[]): LaunchedCommand {
  const { launcher, sandbox, giveBack } = taken
  const { stdin, stdout, commandStdin, commandStdout, handedOver } = pipes
  const ended = Promise.withResolvers<CommandEnd>()
  let waiting: number | undefined
  let reviving: NodeJS.Timeout | undefined
  let startupError = ''
  let state: 'running' | 'terminated' | 'leaving' | 'over' = 'running'

  const leave = async (isKilled: boolean) => {
    if (state === 'terminated') return sandbox.end()
    state = 'leaving'
    await giveBack(isKilled)
  }
  launcher.order('run', [commandStdin, commandStdout, sandbox.keeper, ...words], async (report) => {
    if (report?.word === 'at') {
      waiting = report.number
      return
    }
    clearInterval(reviving)
    handedOver()
    const signal = report && signalOf(report)
    // The keeper may have killed it, because the command signaled the keeper: such a sandbox is not reused.
    await leave(signal === 'SIGKILL' || report?.number === SETSID_KILLED)
    state = 'over'
    startupError = report && !signal ? report.rest : ''
    if (!report) ended.resolve(unreachable('the launcher of local commands was killed'))
    else ended.resolve(signal ? { kind: 'signalled', signal } : { kind: 'exited', code: report.number })
  })
  /** What waits for the command, if the command has stopped it: it would not report the end. */
  const revive = () => {
    const signal = () => {
      if (waiting !== undefined) signalIfAlive(-waiting, 'SIGCONT')
    }
    signal()
    reviving ??= setInterval(signal, REVIVE_MS)
    void ended.promise.then(() => clearInterval(reviving))
  }

  return {
    stdin,
    stdout,
    ended: ended.promise,
    onStarted: handedOver,
    startupError: () => startupError,
    async terminate() {
      revive()
      if (state === 'running') {
        state = 'terminated'
        sandbox.terminate()
      }
      await ended.promise
    },
    async kill() {
      if (state === 'over') return
      revive()
      if (state !== 'leaving') void sandbox.kill()
      await waitAtMost(KILL_TIMEOUT_MS, ended.promise)
    },
  }
}

// Capabilities that concern files, accounts and ports. None of them undoes a mount or reaches beyond the namespaces.
const LIMITS_OF_ROOT = [
  '--bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+net_bind_service,+setgid,+setuid',
  '--inh-caps=-all',
]

/** Options of nsenter, which drops all supplementary groups, or the beginning of a command line. */
function accountArguments(tools: LocalTools, switchTo: SwitchTo | null): string[] {
  if (!switchTo) return []
  const { uid, gid, groups } = switchTo
  if (uid === 0) return [...setprivArguments(tools, switchTo), ...LIMITS_OF_ROOT]
  return groups ? setprivArguments(tools, switchTo) : [`--setuid=${uid}`, `--setgid=${gid}`]
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

function signalOf({ number, rest }: Report): string | undefined {
  if (!/setsid: child \d+ did not exit normally/.test(rest)) return undefined
  // The highest bit marks a core dump.
  return SIGNALS.get(number & 127) ?? 'unknown signal'
}
