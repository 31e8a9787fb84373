// Local commands in namespaces, each in a sandbox that no other command is in: whatever it does to detach itself, nothing of
// it is left when the next one starts; and a command sees neither the processes nor the files of Gantry: see launcher.ts,
// sandbox.ts and hidden.ts.

import { constants } from 'node:os'
import { type CommandEnd, impossible, unreachable } from './executor.ts'
import type { View } from './hidden.ts'
import { type Launcher, type Report, signalIfAlive, startLauncher, viewArguments } from './launcher.ts'
import {
  isRoot,
  type LocalBackend,
  type LocalTools,
  type SwitchTo,
  setprivArguments,
} from './local-backend.ts'
import { createPipeMaker } from './pipes.ts'
import { quote } from './preamble.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'
import { KILL_TIMEOUT_MS, waitAtMost } from './supervise.ts'

// Bash remembers every process that it ever started, and gets slower by it.
const MAX_ORDERS = 300

// A view does not show what is mounted on the machine later, so it must not grow old.
const VIEW_FOR_MS = 5_000

/** The exit code when not only the command was killed, but setsid, too. */
const SETSID_KILLED = 137

/** nsenter stops when it notices that what it waits for has stopped, which may be later than the signal. */
const REVIVE_MS = 200

/** Of one view and account. */
const MAX_FREE_SANDBOXES = 4

/** Every view has its own. On a disk, creating and removing named pipes takes a tenth of the time of a small command. */
const MEMORY = '/dev/shm'

type PreparedView = {
  launcher: Launcher
  number: Promise<number | { problem: string }>
  timer: NodeJS.Timeout
  /** Sandboxes in which nothing runs, by the account that they are for. */
  free: Map<string, Sandbox[]>
  /** False when its launcher is about to forget it, or to end. */
  isUsable: boolean
}

/** Each command in namespaces that no other command is in. Only trying shows whether this machine allows it. */
export function createNamespaceBackend(tools: LocalTools, pipesFolder: string): LocalBackend {
  const alive = new Set<Launcher>()
  let current: Launcher | undefined
  let orders = 0
  const pipes = createPipeMaker([MEMORY, pipesFolder], makeFifos)
  const views = new Map<string, PreparedView>()

  /** Started with the first order, and again when it was killed or has done its share. */
  function launcher(): Launcher {
    if (++orders % MAX_ORDERS === 0) retire()
    if (current) return current
    const started = startLauncher(tools)
    alive.add(started)
    started.gone.then(() => {
      alive.delete(started)
      if (current === started) abandon()
    })
    current = started
    return started
  }

  /** It ends when the last of its commands has. */
  function retire(): void {
    const retired = current
    abandon()
    retired?.end()
  }

  function abandon(): void {
    current = undefined
    for (const key of views.keys()) discardView(key)
  }

  function makeFifos(paths: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      launcher().order(
        (id) => `mkfifo -m 666 ${paths.map(quote).join(' ')}; echo "made ${id} $?"`,
        (report) => (report?.number === 0 ? resolve() : reject(new Error('pipes could not be created'))),
      )
    })
  }

  function discardView(key: string): PreparedView | undefined {
    const view = views.get(key)
    views.delete(key)
    clearTimeout(view?.timer)
    if (view) view.isUsable = false
    for (const sandbox of [...(view?.free.values() ?? [])].flat()) void sandbox.kill()
    return view
  }

  function prepareView(view: View, asRoot: boolean): PreparedView {
    const words = viewArguments(view, asRoot)
    // The root may be deleted and created again. What a view has of its own, /dev/shm for example, is for one server.
    const key = `${words} ${view.root?.id} ${view.server}`
    const known = views.get(key)
    if (known) return known
    const by = current ?? launcher()
    const number = orderView(by, words)
    const forget = async () => {
      const made = discardView(key) && (await number)
      if (typeof made === 'number') by.tell(`forget ${made}`)
    }
    const timer = setTimeout(forget, VIEW_FOR_MS).unref()
    const prepared = { launcher: by, number, timer, free: new Map(), isUsable: true }
    views.set(key, prepared)
    number.then((made) => typeof made !== 'number' && views.get(key) === prepared && discardView(key))
    return prepared
  }

  /** In a view of these files, for this account. By the time it is returned, the view may not be usable any more. */
  async function findSandbox(
    view: View,
    account: string,
    asRoot: boolean,
  ): Promise<CommandEnd | { prepared: PreparedView; sandbox: Sandbox; free: Sandbox[] }> {
    const prepared = prepareView(view, asRoot)
    const number = await prepared.number
    if (typeof number !== 'number') return unreachable(`local steps cannot be isolated: ${number.problem}`)
    // Its launcher may be about to end, and would not answer.
    if (!prepared.isUsable) return findSandbox(view, account, asRoot)
    const free = prepared.free.get(account) ?? []
    prepared.free.set(account, free)
    const sandbox = takeAlive(free) ?? (await openSandbox(prepared.launcher, number, writableBy(asRoot)))
    return 'problem' in sandbox ? impossible(sandbox.problem) : { prepared, sandbox, free }
  }

  return {
    async launch({ switchTo, environment, view }) {
      const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
      const account = accountArguments(tools, switchTo).map(quote)
      launcher()
      const find = () => findSandbox(view, account.join(' '), switchTo?.uid === 0)
      let found = await find()
      while (!('kind' in found) && !found.prepared.isUsable) {
        void found.sandbox.kill()
        found = await find()
      }
      if ('kind' in found) {
        stdin.destroy()
        stdout.destroy()
        handedOver()
        return found
      }
      const { prepared, sandbox, free } = found
      const variables = Object.entries(environment).map(([name, value]) => quote(`${name}=${value}`))
      const words = [commandStdin, commandStdout, sandbox.keeper, ...variables, '--', ...account].join(' ')
      const ended = Promise.withResolvers<CommandEnd>()
      let waiting: number | undefined
      let reviving: NodeJS.Timeout | undefined
      let startupError = ''
      let state: 'running' | 'terminated' | 'leaving' | 'over' = 'running'
      const leave = async (isKilled: boolean) => {
        if (state === 'terminated') return sandbox.end()
        state = 'leaving'
        // Perhaps by the keeper, which it told to clean up.
        const isClean = !isKilled && (await sandbox.clean())
        if (isClean && prepared.isUsable && free.length < MAX_FREE_SANDBOXES) free.push(sandbox)
        else await sandbox.kill()
      }
      prepared.launcher.order(
        (id) => `run ${id} ${words} &`,
        async (report) => {
          if (report?.word === 'at') {
            waiting = report.number
            return
          }
          clearInterval(reviving)
          handedOver()
          const signalled = report && signalOf(report)
          await leave(signalled === 'SIGKILL' || report?.number === SETSID_KILLED)
          state = 'over'
          if (!report) ended.resolve(unreachable('the launcher of local commands was killed'))
          else if (signalled) ended.resolve({ kind: 'signalled', signal: signalled })
          else {
            startupError = report.rest
            ended.resolve({ kind: 'exited', code: report.number })
          }
        },
      )
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
    },
    async close() {
      await pipes.close()
      retire()
      await Promise.all([...alive].map(({ gone }) => gone))
    },
  }
}

/**
 * Settings of the kernel that a command could change. Under an ordinary account they are those of the sandbox, and the next
 * command would find them changed.
 */
function writableBy(asRoot: boolean): string[] {
  if (asRoot) return ['/proc/sys', '/proc/sysrq-trigger']
  return isRoot() ? [] : ['/proc/sys']
}

function takeAlive(free: Sandbox[]): Sandbox | undefined {
  const sandbox = free.pop()
  return sandbox === undefined || sandbox.isAlive() ? sandbox : takeAlive(free)
}

function orderView(launcher: Launcher, words: string): PreparedView['number'] {
  return new Promise((resolve) => {
    launcher.order(
      (id) => `view ${id} ${words}`,
      (report) => {
        if (!report) resolve({ problem: 'the launcher of local commands was killed' })
        else if (report.number !== 0) resolve({ problem: report.rest || 'the kernel does not allow it' })
        else resolve(report.id)
      },
    )
  })
}

// Those that concern files, accounts and ports. None of them undoes a mount or reaches beyond the namespaces.
const CAPABILITIES_OF_ROOT = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'net_bind_service',
  'setgid',
  'setuid',
]

/** Options of nsenter, which drops all supplementary groups, or the beginning of a command line. */
function accountArguments(tools: LocalTools, switchTo: SwitchTo | null): string[] {
  if (!switchTo) return []
  const { uid, gid, groups } = switchTo
  if (uid === 0) {
    const bounding = ['-all', ...CAPABILITIES_OF_ROOT.map((name) => `+${name}`)].join(',')
    return [...setprivArguments(tools, switchTo), `--bounding-set=${bounding}`, '--inh-caps=-all']
  }
  return groups ? setprivArguments(tools, switchTo) : [`--setuid=${uid}`, `--setgid=${gid}`]
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

function signalOf({ number, rest }: Report): string | undefined {
  if (!/setsid: child \d+ did not exit normally/.test(rest)) return undefined
  // The highest bit marks a core dump.
  return SIGNALS.get(number & 127) ?? 'unknown signal'
}
