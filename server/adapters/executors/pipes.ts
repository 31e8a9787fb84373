// Real pipes for local commands. What Node calls a pipe is a socket, and a command cannot open /dev/stdin,
// /dev/stdout or /dev/stderr when those are sockets. Node cannot create a pipe, but it can open a named one.

import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { STANDARD_PATH } from './local-backend.ts'

export type CommandPipes = {
  stdin: Writable
  stdout: Readable
  /** The command's ends. */
  commandStdin: number
  commandStdout: number
  /** Closes our copies of the command's ends, once it has its own. May be called again. */
  handedOver(): void
}

/** `take` must not be called after `close`. */
export type PipeMaker = { take(): Promise<CommandPipes>; close(): Promise<void> }

type OpenPipe = { read: number; write: number }
type Pair = { input: OpenPipe; output: OpenPipe }

const PAIRS_PER_BATCH = 8

/** Creates pipes in batches, because each batch costs a process. Their names are gone before they are used. */
export function createPipeMaker(makeFifos = runMkfifo): PipeMaker {
  const ready: Pair[] = []
  let making: Promise<void> | undefined
  let closed = false

  function make(): Promise<void> {
    making ??= makePairs(makeFifos)
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
      const { input, output } = ready.pop()!
      const open = [input.read, output.write]
      // The next callers need not wait; if it fails, they will see the error.
      if (ready.length < PAIRS_PER_BATCH / 4) make().catch(() => {})
      return {
        stdin: new Socket({ fd: input.write, readable: false, writable: true }),
        stdout: new Socket({ fd: output.read, readable: true, writable: false }),
        commandStdin: input.read,
        commandStdout: output.write,
        handedOver() {
          for (const fd of open.splice(0)) closeSync(fd)
        },
      }
    },
    async close() {
      closed = true
      closeAll(ready.splice(0))
      await making?.catch(() => {})
    },
  }
}

async function makePairs(makeFifos: typeof runMkfifo): Promise<Pair[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-pipes-'))
  try {
    const names = Array.from({ length: PAIRS_PER_BATCH }, (_, index) => join(folder, String(index)))
    await makeFifos(names.flatMap((name) => [`${name}.in`, `${name}.out`]))
    return names.map((name) => ({ input: openInput(`${name}.in`), output: openOutput(`${name}.out`) }))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Commands run under other accounts, and /dev/stdin reopens the pipe. Nobody else can enter the folder. */
async function runMkfifo(paths: string[]): Promise<void> {
  await promisify(execFile)('mkfifo', ['-m', '666', ...paths], { env: { PATH: STANDARD_PATH } })
}

// Opening one end blocks until the other is open, unless it is opened non-blocking. Our ends stay so; the
// command's must not, or its reads and writes would fail.
const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

function openInput(path: string): OpenPipe {
  const first = openSync(path, O_RDONLY | O_NONBLOCK)
  const write = openSync(path, O_WRONLY | O_NONBLOCK)
  const read = openSync(path, O_RDONLY)
  closeSync(first)
  return { read, write }
}

function openOutput(path: string): OpenPipe {
  const read = openSync(path, O_RDONLY | O_NONBLOCK)
  return { read, write: openSync(path, O_WRONLY) }
}

function closeAll(pairs: Pair[]): void {
  for (const { input, output } of pairs) {
    for (const fd of [input.read, input.write, output.read, output.write]) closeSync(fd)
  }
}
