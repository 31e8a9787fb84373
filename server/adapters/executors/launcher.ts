// The launcher is a bash that executes orders, line by line, and reports. Gantry itself does not fork for a command:
// for a process of its size that takes longer than the command, and blocks everything else meanwhile.
//
// `view` prepares a mount namespace in which the files of Gantry are hidden, and keeps it open; `sandbox` makes a process
// namespace in a copy of one, with a keeper as its first process; `run` starts a command in a sandbox. Nothing that the launcher
// starts can gain privileges by executing a program.
//
//   launcher ─┬─ view: bash, gone when the launcher has opened its namespaces
//             ├─ one for each sandbox ── nsenter, unshare ── keeper
//             └─ one for each command ── nsenter ── setsid ── the command, in its own session
//
// Under an ordinary account, mounting takes a user namespace. Views and keepers are in it, with all capabilities
// there. The command is in another one inside of it: it has none, and cannot trace a process outside of its own.

import { spawn } from 'node:child_process'
import { readScript } from '#platform/scripts.ts'
import type { LocalTools } from './local-backend.ts'
import { onLines } from './output.ts'
import { BASH, BASH_OPTIONS, quote, STANDARD_PATH } from './preamble.ts'

const LAUNCHER = readScript('./launcher.sh', import.meta.url)
const VIEW = readScript('./view.sh', import.meta.url)
const KEEPER = readScript('./keeper.sh', import.meta.url)

/** The functions of launcher.sh. */
type Order = 'view' | 'forget' | 'sandbox' | 'run' | 'fifos'
type Words = readonly (string | number)[]

export type Report = { word: string; id: number; number: number; rest: string }

export type Launcher = ReturnType<typeof startLauncher>

export function startLauncher({ setpriv, unshare, nsenter, setsid }: LocalTools) {
  const script = [BASH, '--norc', '-c', LAUNCHER, 'launcher']
  const group = String(process.getgid!())
  const words = [unshare, nsenter, setsid, group, VIEW, KEEPER, BASH, ...BASH_OPTIONS]
  const bash = spawn(setpriv, ['--no-new-privs', ...script, ...words], {
    cwd: '/',
    // A signal to Gantry's process group is not for the launcher.
    detached: true,
    env: { PATH: STANDARD_PATH },
    stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
  })
  const [input, output, lifePipe] = [bash.stdin!, bash.stdout!, bash.stdio[3]!]
  const listeners = new Map<number, (report: Report | undefined) => void>()
  const gone = new Promise<void>((resolve) => {
    bash.once('error', () => resolve())
    bash.once('exit', () => resolve())
  }).then(() => {
    lifePipe.destroy()
    for (const listen of listeners.values()) listen(undefined)
  })
  for (const stream of [input, output, lifePipe]) stream.on('error', () => {})
  onLines(output, (line) => {
    const [word = '', id, number, ...rest] = line.split(' ')
    const listen = listeners.get(Number(id))
    if (word !== 'at' && word !== 'clean') listeners.delete(Number(id))
    listen?.({ word, id: Number(id), number: Number(number), rest: rest.join(' ') })
  })
  let ids = 0
  const write = (name: Order, words: Words) =>
    void input.write(`${[name, ...words.map((word) => quote(String(word)))].join(' ')}\n`)
  /** `listen` receives every report with the number of the order; undefined when there will be no more. */
  const order = (name: Order, words: Words, listen: (report: Report | undefined) => void) => {
    listeners.set(++ids, listen)
    write(name, [ids, ...words])
  }
  return {
    order,
    makeFifos: (paths: string[]) =>
      new Promise<void>((resolve, reject) =>
        order('fifos', paths, (report) =>
          report?.number === 0 ? resolve() : reject(new Error('pipes could not be created')),
        ),
      ),
    forget: (view: number) => write('forget', [view]),
    gone,
    end: () => void input.end(),
  }
}

// Bash remembers every process that it ever started, and gets slower by it.
const MAX_ORDERS = 300

/** One launcher at a time. `onReplace`: from now on it takes no more orders, and ends when the last of its commands has. */
export function createLaunchers(tools: LocalTools, onReplace: () => void) {
  const alive = new Set<Launcher>()
  let current: Launcher | undefined
  let orders = 0

  function start(): Launcher {
    const started = startLauncher(tools)
    alive.add(started)
    started.gone.then(() => {
      alive.delete(started)
      if (current === started) abandon()
    })
    return started
  }

  function abandon(): Launcher | undefined {
    const abandoned = current
    current = undefined
    onReplace()
    return abandoned
  }

  return {
    /** For a command: another launcher when this one has done its share. */
    next(): Launcher {
      if (++orders % MAX_ORDERS === 0) abandon()?.end()
      current ??= start()
      return current
    },
    /** For what a command needs. */
    current(): Launcher {
      current ??= start()
      return current
    },
    /** Resolves when every launcher has ended. */
    async close(): Promise<void> {
      abandon()?.end()
      await Promise.all([...alive].map(({ gone }) => gone))
    },
  }
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}
