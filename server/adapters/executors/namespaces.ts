// Local commands in namespaces of their own. The kernel ends everything in a process namespace together with its
// first process, the keeper, whatever a command does to detach itself; and a command sees neither the processes
// nor the files of Gantry: see launcher.ts and hidden.ts.

import { constants } from 'node:os'
import { type CommandEnd, unreachable } from './executor.ts'
import type { View } from './hidden.ts'
import { type Launcher, type Report, startLauncher, viewArguments } from './launcher.ts'
import { type LocalBackend, type LocalTools, type SwitchTo, setprivArguments } from './local-backend.ts'
import { createPipeMaker } from './pipes.ts'
import { quote } from './preamble.ts'
import { KILL_TIMEOUT_MS, waitAtMost } from './supervise.ts'

// Bash remembers every process that it ever started, and gets slower by it.
const MAX_ORDERS = 300

// A view does not show what is mounted on the machine later, so it must not grow old.
const VIEW_FOR_MS = 5_000

// A keeper may miss a signal: see launcher.ts.
const REPEAT_MS = 500

type PreparedView = {
  launcher: Launcher
  number: Promise<number | { problem: string }>
  timer: NodeJS.Timeout
  /** False when its launcher is about to forget it, or to end. */
  isUsable: boolean
}

/** Each command in its own namespaces. Only trying shows whether this machine allows it. */
export function createNamespaceBackend(tools: LocalTools, pipesFolder: string): LocalBackend {
  const alive = new Set<Launcher>()
  let current: Launcher | undefined
  let orders = 0
  const pipes = createPipeMaker(pipesFolder, makeFifos)
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
    return view
  }

  function prepareView(view: View, asRoot: boolean): PreparedView {
    const words = viewArguments(view, asRoot)
    // The root may be deleted and created again.
    const key = `${words} ${view.root?.id}`
    const known = views.get(key)
    if (known) return known
    const by = current ?? launcher()
    const number = orderView(by, words)
    const forget = async () => {
      const made = discardView(key) && (await number)
      if (typeof made === 'number') by.tell(`forget ${made}`)
    }
    const prepared = { launcher: by, number, timer: setTimeout(forget, VIEW_FOR_MS).unref(), isUsable: true }
    views.set(key, prepared)
    number.then((made) => typeof made !== 'number' && views.get(key) === prepared && discardView(key))
    return prepared
  }

  return {
    async launch({ switchTo, environment, view }) {
      const asRoot = switchTo?.uid === 0
      const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
      launcher()
      let prepared = prepareView(view, asRoot)
      let number = await prepared.number
      while (typeof number === 'number' && !prepared.isUsable) {
        prepared = prepareView(view, asRoot)
        number = await prepared.number
      }
      if (typeof number !== 'number') {
        stdin.destroy()
        stdout.destroy()
        handedOver()
        return unreachable(`local steps cannot be isolated: ${number.problem}`)
      }
      const variables = Object.entries(environment).map(([name, value]) => quote(`${name}=${value}`))
      const account = accountArguments(tools, switchTo).map(quote)
      const start = [commandStdin, commandStdout, number, asRoot ? 'root' : 'account']
      const words = [...start, ...variables, '--', ...account].join(' ')
      const ended = Promise.withResolvers<CommandEnd>()
      let startupError = ''
      let keeper: number | undefined
      let pending: 'SIGUSR1' | 'SIGKILL' | undefined
      let repeating: NodeJS.Timeout | undefined
      const signal = (name: typeof pending) => {
        pending = name
        if (keeper !== undefined && name) signalIfAlive(keeper, name)
      }
      prepared.launcher.order(
        (id) => `run ${id} ${words} &`,
        (report) => {
          if (report?.word === 'at') {
            keeper = report.number
            signal(pending)
            return
          }
          keeper = undefined
          handedOver()
          const signalled = report && signalOf(report)
          if (!report) ended.resolve(unreachable('the launcher of local commands was killed'))
          else if (signalled) ended.resolve({ kind: 'signalled', signal: signalled })
          else {
            startupError = report.rest
            ended.resolve({ kind: 'exited', code: report.number })
          }
        },
      )
      return {
        stdin,
        stdout,
        ended: ended.promise,
        onStarted: handedOver,
        startupError: () => startupError,
        async terminate() {
          signal('SIGUSR1')
          repeating = setInterval(signal, REPEAT_MS, 'SIGUSR1')
          await ended.promise.finally(() => clearInterval(repeating))
        },
        async kill() {
          clearInterval(repeating)
          signal('SIGKILL')
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

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}
