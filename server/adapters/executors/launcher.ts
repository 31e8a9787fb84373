// Local commands in process namespaces: the kernel ends everything in one together with its first process, the
// keeper, whatever a command does to detach itself.
//
//   Gantry ── launcher ── one for each command ─┬─ unshare ── keeper
//                                               └─ nsenter ── setsid ── the command, in a session of its own
//
// Gantry forks for none of them: for a process of its size that takes longer than the command, and stops
// everything else meanwhile. The launcher is a bash that obeys orders, line by line, and reports. The keeper reads
// the life line, on which nothing is ever said: its end means that Gantry is dead.

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { CommandEnd } from './executor.ts'
import { onLines } from './lines.ts'
import { BASH, isRoot, type LocalTools, STANDARD_PATH } from './local-tools.ts'
import { BASH_OPTIONS, quote } from './preamble.ts'

export type LaunchOrder = {
  /** Descriptors of this process: the command's ends of its pipes. To be kept open until it has begun. */
  stdin: number
  stdout: number
  environment: Record<string, string>
  /** What switches the account: options of nsenter, or the beginning of a command line. */
  identity: string[]
}

export type Launched = {
  /** Resolves when nothing is alive. `said`: what was said instead, when bash was not reached. */
  ended: Promise<{ end: CommandEnd; said: string }>
  /** SIGTERM to everything. */
  terminate(): void
  /** SIGKILL to everything. */
  kill(): void
}

export type Launcher = {
  launch(order: LaunchOrder): Launched
  makeFifos(paths: string[]): Promise<void>
  /** For when no command runs any more. */
  close(): Promise<void>
}

// USR1: SIGTERM to everyone. USR2: the command itself has ended, so the others must go; after a SIGTERM they keep
// the time that they were given.
const KEEPER = [
  'trap "t=1; kill -TERM -1" USR1',
  'trap "while [ \\$t ] && kill -0 -1 && { read -r -t 0.02; ((\\$? > 128)); }; do :; done; exit" USR2',
  'echo ready; exec >&- 2>&-; read -r',
].join('; ')

// Descriptor 5 says when the namespace is ready, and ends when nothing in it is alive.
// Opening one end of a pipe waits for the other, unless it is opened for both first: Gantry may be dead by now.
// setsid tells of a signal by its complaint, with the number as exit code; bash would make 137 of both.
// Job control is on only because bash has background commands ignore SIGINT otherwise, and all that they start.
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

const KILLED = {
  end: { kind: 'unreachable', message: 'the launcher of local commands was killed' },
  said: '',
} as const

// Bash remembers every process that it ever started, and gets slower by it.
const ORDERS_OF_ONE_BASH = 300

/** Its bash is started with the first order, and again when it was killed or has done its share. */
export function createLauncher(tools: LocalTools): Launcher {
  const alive = new Set<LauncherBash>()
  let current: LauncherBash | undefined
  let orders = 0

  function bash(): LauncherBash {
    if (++orders % ORDERS_OF_ONE_BASH === 0) retire()
    if (current) return current
    const started = startBash(`${definitions(tools)}${LAUNCHER}`)
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

  return {
    launch({ stdin, stdout, environment, identity }) {
      const variables = Object.entries(environment).map(([name, value]) => quote(`${name}=${value}`))
      const words = [stdin, stdout, ...variables, '--', ...identity.map(quote)].join(' ')
      const ended = Promise.withResolvers<Awaited<Launched['ended']>>()
      let keeper: number | undefined
      let wish: 'SIGUSR1' | 'SIGKILL' | undefined
      const signal = (name: typeof wish) => {
        wish = name
        if (keeper !== undefined && name) signalIfAlive(keeper, name)
      }
      bash().order(
        (id) => `run ${id} ${words} &`,
        (report) => {
          if (report?.word === 'at') {
            keeper = report.number
            signal(wish)
            return
          }
          keeper = undefined
          ended.resolve(report ? readEnd(report) : KILLED)
        },
      )
      return { ended: ended.promise, terminate: () => signal('SIGUSR1'), kill: () => signal('SIGKILL') }
    },
    makeFifos(paths) {
      return new Promise((resolve, reject) => {
        bash().order(
          (id) => `mkfifo -m 666 ${paths.map(quote).join(' ')}; echo "made ${id} $?"`,
          (report) => (report?.number === 0 ? resolve() : reject(new Error('pipes could not be made'))),
        )
      })
    },
    async close() {
      retire()
      await Promise.all([...alive].map(({ gone }) => gone))
    },
  }
}

function definitions({ unshare, nsenter, setsid }: LocalTools): string {
  const array = (name: string, words: string[]) => `${name}=(${words.map(quote).join(' ')})\n`
  // With a /proc that shows the namespace alone: the process ids that scripts find there would be wrong otherwise.
  const options = ['--pid', '--fork', '--kill-child', '--mount-proc']
  const [asUser, asSameUser] = isRoot()
    ? [[], []]
    : [
        ['--user', '--map-current-user'],
        ['--user', '--preserve-credentials'],
      ]
  return [
    array('UNSHARE', [unshare, ...asUser, ...options, BASH, '--norc', '-c', KEEPER]),
    array('NSENTER', [nsenter, ...asSameUser, '--pid', '--mount']),
    array('COMMAND', [setsid, '--fork', '--wait', BASH, ...BASH_OPTIONS]),
  ].join('')
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

function readEnd({ number, rest }: Report): Awaited<Launched['ended']> {
  if (!/setsid: child \d+ did not exit normally/.test(rest)) {
    return { end: { kind: 'exited', code: number }, said: rest }
  }
  // The highest bit tells of a core dump.
  return { end: { kind: 'signalled', signal: SIGNALS.get(number & 127) ?? 'unknown signal' }, said: '' }
}

type Report = { word: string; number: number; rest: string }

type LauncherBash = {
  /** `listen` hears every report about the order; undefined when there will be none any more. */
  order(line: (id: number) => string, listen: (report: Report | undefined) => void): void
  gone: Promise<void>
  end(): void
}

function startBash(script: string): LauncherBash {
  const bash = spawn(BASH, ['--norc', '-c', script], {
    cwd: '/',
    // A signal to Gantry's process group is not for the launcher.
    detached: true,
    env: { PATH: STANDARD_PATH },
    stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
  })
  const [input, output, lifeLine] = [bash.stdin!, bash.stdout!, bash.stdio[3]!]
  const listeners = new Map<number, (report: Report | undefined) => void>()
  const gone = new Promise<void>((resolve) => {
    bash.once('error', () => resolve())
    bash.once('exit', () => resolve())
  }).then(() => {
    lifeLine.destroy()
    for (const listen of listeners.values()) listen(undefined)
  })
  for (const stream of [input, output, lifeLine]) stream.on('error', () => {})
  onLines(output as Readable, (line) => {
    const [word = '', id, number, ...rest] = line.split(' ')
    const listen = listeners.get(Number(id))
    if (word !== 'at') listeners.delete(Number(id))
    listen?.({ word, number: Number(number), rest: rest.join(' ') })
  })
  let ids = 0
  return {
    order(line, listen) {
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
