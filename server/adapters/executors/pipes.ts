// Real pipes for local commands. What Node calls a pipe is a socket, and a command cannot open /dev/stdin,
// /dev/stdout or /dev/stderr when those are sockets. Node cannot create a pipe, but it can open a named one.

import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { STANDARD_PATH } from './preamble.ts'

/** File descriptors. */
type Pair = Record<'stdin' | 'stdout' | 'commandStdin' | 'commandStdout', number>

const PAIRS_PER_BATCH = 8

/**
 * Creates pipes in batches, because each batch costs a process. Their names are gone before they are used. `folders`, of
 * which the first that works is used, are hidden from commands: one with Gantry's own account could open the pipes of
 * another. `take` must not be called after `close`.
 */
export function createPipeMaker(folders: readonly string[], makeFifos = runMkfifo) {
  const ready: Pair[] = []
  let making: Promise<void> | undefined
  let closed = false

  function make(): Promise<void> {
    making ??= makePairs(folders, makeFifos)
      .then((pairs) => {
        if (closed) closeAll(pairs)
        else ready.push(...pairs)
      })
      .finally(() => {
        making = undefined
      })
    return making
  }

  return {
    async take() {
      while (ready.length === 0) await make()
      const { stdin, stdout, commandStdin, commandStdout } = ready.pop()!
      const open = [commandStdin, commandStdout]
      // The next callers need not wait; if it fails, they will see the error.
      if (ready.length < PAIRS_PER_BATCH / 4) make().catch(() => {})
      return {
        stdin: new Socket({ fd: stdin, readable: false, writable: true }),
        stdout: new Socket({ fd: stdout, readable: true, writable: false }),
        commandStdin,
        commandStdout,
        /** Closes our copies of the command's ends, once it has its own. May be called again. */
        handedOver(): void {
          for (const fd of open.splice(0)) closeSync(fd)
        },
      }
    },
    async close(): Promise<void> {
      closed = true
      closeAll(ready.splice(0))
      await making?.catch(() => {})
    },
  }
}

export type Pipes = Awaited<ReturnType<ReturnType<typeof createPipeMaker>['take']>>

/** In the first folder where that is possible. */
async function makePairs(folders: readonly string[], makeFifos: typeof runMkfifo): Promise<Pair[]> {
  const [first, ...others] = folders
  const made = makePairsIn(first!, makeFifos)
  return others.length === 0 ? made : made.catch(() => makePairs(others, makeFifos))
}

async function makePairsIn(parent: string, makeFifos: typeof runMkfifo): Promise<Pair[]> {
  await using folder = await mkdtempDisposable(join(parent, 'gantry-pipes-'))
  const names = Array.from({ length: PAIRS_PER_BATCH }, (_, index) => join(folder.path, String(index)))
  await makeFifos(names.flatMap((name) => [`${name}.in`, `${name}.out`]))
  return names.map(openPair)
}

/** Commands run under other accounts, and /dev/stdin reopens the pipe. Nobody else can enter the folder. */
async function runMkfifo(paths: string[]): Promise<void> {
  await promisify(execFile)('mkfifo', ['-m', '666', ...paths], { env: { PATH: STANDARD_PATH } })
}

// Opening one end blocks until the other is open, unless it is opened non-blocking. Our ends stay so; the
// command's must not, or its reads and writes would fail.
const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

function openPair(name: string): Pair {
  const [input, output] = [`${name}.in`, `${name}.out`]
  const first = openSync(input, O_RDONLY | O_NONBLOCK)
  const stdin = openSync(input, O_WRONLY | O_NONBLOCK)
  const commandStdin = openSync(input, O_RDONLY)
  closeSync(first)
  const stdout = openSync(output, O_RDONLY | O_NONBLOCK)
  return { stdin, stdout, commandStdin, commandStdout: openSync(output, O_WRONLY) }
}

function closeAll(pairs: Pair[]): void {
  for (const fd of pairs.flatMap((pair) => Object.values(pair))) closeSync(fd)
}
