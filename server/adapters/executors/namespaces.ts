// Local commands in process namespaces: the kernel ends everything in one together with its first process, the
// keeper, whatever a command does to detach itself.
//
//   Gantry ── launcher ── one for each command ─┬─ unshare ── keeper
//                                               └─ nsenter ── setsid ── the command, in its own session
//
// Gantry itself does not fork for a command: for a process of its size that takes longer than the command, and
// blocks everything else meanwhile. The launcher is a bash that executes orders, line by line, and reports. The
// keeper reads a pipe on which nothing is ever sent: its end means that Gantry is dead.

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type CommandEnd, unreachable } from './executor.ts'
import {
  isRoot,
  type LocalBackend,
  type LocalTools,
  type SwitchTo,
  setprivArguments,
} from './local-backend.ts'
import { onLines } from './output.ts'
import { createPipeMaker } from './pipes.ts'
import { BASH, BASH_OPTIONS, quote, STANDARD_PATH } from './preamble.ts'
import { KILL_TIMEOUT_MS, waitAtMost } from './supervise.ts'

// USR1: SIGTERM to everyone. USR2: the command itself has ended, so the others must go; after a SIGTERM they keep
// their grace period.
const KEEPER = [
  'trap "t=1; kill -TERM -1" USR1',
  'trap "while [ \\$t ] && kill -0 -1 && { read -r -t 0.02; ((\\$? > 128)); }; do :; done; exit" USR2',
  'echo ready; exec >&- 2>&-; read -r',
].join('; ')

// Descriptor 5 reports when the namespace is ready, and ends when nothing in it is alive.
// Opening one end of a pipe waits for the other, unless it is opened for both first: Gantry may be dead by now.
// setsid reports a signal by an error message, with the number as exit code; bash would make 137 of both.
// Without job control, bash makes background commands ignore SIGINT, and all that they start.
const LAUNCHER = `
set -m
run() {
  local id=$1 in=/proc/$PPID/fd/$2 out=/proc/$PPID/fd/$3 said keeper code=1; shift 3
  exec </dev/null 5< <(exec "\${UNSHARE[@]}" <&3 3<&- 2>&1)
  read -r -u 5 said
  if [ "$said" = ready ]; then
    read -r keeper </proc/$!/task/$!/children
    echo "at $id $keeper"
    while [ "$1" != -- ]; do export "$1"; shift; done; shift
    said=$(
      exec 6<>"$in" 7<>"$out" 8<"$in" 9>"$out"
      exec "\${NSENTER[@]}" --target=$keeper "$@" "\${COMMAND[@]}" 2>&1 <&8 >&9 3<&- 5<&- 6<&- 7<&- 8<&- 9<&-
    )
    code=$?
    kill -USR2 $keeper
  fi
  read -r -u 5
  said=\${said//[[:cntrl:]]/ }
  echo "ended $id $code \${said:0:500}"
}
while read -r line; do eval "$line"; done
wait`

// Bash remembers every process that it ever started, and gets slower by it.
const MAX_ORDERS = 300

/** Each command in its own process namespace. Only trying shows whether this machine allows it. */
export function createNamespaceBackend(tools: LocalTools): LocalBackend {
  const alive = new Set<Launcher>()
  let current: Launcher | undefined
  let orders = 0
  const pipes = createPipeMaker(makeFifos)

  /** Started with the first order, and again when it was killed or has done its share. */
  function launcher(): Launcher {
    if (++orders % MAX_ORDERS === 0) retire()
    if (current) return current
    const started = startLauncher(`${definitions(tools)}${LAUNCHER}`)
    alive.add(started)
    started.gone.then(() => {
      alive.delete(started)
      if (current === started) current = undefined
    })
    current = started
    return started
  }

  /** It ends when the last of its commands has. */
  function retire(): void {
    current?.end()
    current = undefined
  }

  function makeFifos(paths: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      launcher().order(
        (id) => `mkfifo -m 666 ${paths.map(quote).join(' ')}; echo "made ${id} $?"`,
        (report) => (report?.number === 0 ? resolve() : reject(new Error('pipes could not be created'))),
      )
    })
  }

  return {
    async launch({ switchTo, environment }) {
      const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
      const variables = Object.entries(environment).map(([name, value]) => quote(`${name}=${value}`))
      const account = accountArguments(tools, switchTo).map(quote)
      const words = [commandStdin, commandStdout, ...variables, '--', ...account].join(' ')
      const ended = Promise.withResolvers<CommandEnd>()
      let startupError = ''
      let keeper: number | undefined
      let pending: 'SIGUSR1' | 'SIGKILL' | undefined
      const signal = (name: typeof pending) => {
        pending = name
        if (keeper !== undefined && name) signalIfAlive(keeper, name)
      }
      launcher().order(
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
          await ended.promise
        },
        async kill() {
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

/** Options of nsenter, which drops all supplementary groups, or the beginning of a command line. */
function accountArguments(tools: LocalTools, switchTo: SwitchTo | null): string[] {
  if (!switchTo) return []
  const { uid, gid, groups } = switchTo
  return groups ? setprivArguments(tools, switchTo) : [`--setuid=${uid}`, `--setgid=${gid}`]
}

function definitions({ unshare, nsenter, setsid }: LocalTools): string {
  const array = (name: string, words: string[]) => `${name}=(${words.map(quote).join(' ')})\n`
  // With a /proc of the namespace: otherwise the process ids that scripts find there would be wrong.
  const options = ['--pid', '--fork', '--kill-child', '--mount-proc']
  const asUser = isRoot() ? [] : ['--user', '--map-current-user']
  const asSameUser = isRoot() ? [] : ['--user', '--preserve-credentials']
  return [
    array('UNSHARE', [unshare, ...asUser, ...options, BASH, '--norc', '-c', KEEPER]),
    array('NSENTER', [nsenter, ...asSameUser, '--pid', '--mount']),
    array('COMMAND', [setsid, '--fork', '--wait', BASH, ...BASH_OPTIONS]),
  ].join('')
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

function signalOf({ number, rest }: Report): string | undefined {
  if (!/setsid: child \d+ did not exit normally/.test(rest)) return undefined
  // The highest bit marks a core dump.
  return SIGNALS.get(number & 127) ?? 'unknown signal'
}

type Report = { word: string; number: number; rest: string }

type Launcher = ReturnType<typeof startLauncher>

function startLauncher(script: string) {
  const bash = spawn(BASH, ['--norc', '-c', script], {
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
    if (word !== 'at') listeners.delete(Number(id))
    listen?.({ word, number: Number(number), rest: rest.join(' ') })
  })
  let ids = 0
  return {
    /** `listen` receives every report about the order; undefined when there will be no more. */
    order(line: (id: number) => string, listen: (report: Report | undefined) => void): void {
      const id = ++ids
      listeners.set(id, listen)
      input.write(`${line(id)}\n`)
    },
    gone,
    end: () => void input.end(),
  }
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}
