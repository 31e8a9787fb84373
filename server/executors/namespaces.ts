// Process namespaces for local commands: the kernel ends everything in one together with its first process, the
// keeper, whatever a command does to detach itself.
//
// The keeper reads a line from Gantry: a word means SIGTERM to everything, the end of the line means that Gantry
// is done, or dead. Then the keeper ends, and with it the namespace.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { atMost } from './at-most.ts'
import type { Impossible } from './executor.ts'
import { BASH, isRoot, type LocalTools, STANDARD_PATH } from './local-tools.ts'
import { mainEnd } from './spawned.ts'

export type Namespace = {
  /** The process id of its keeper, as seen from outside. */
  keeper: number
  /** SIGTERM to everything in it. It ends by itself when nothing is left. */
  terminate(): void
  /** SIGKILL to everything in it. */
  end(): void
  /** Resolves when nothing in it is alive. */
  gone: Promise<unknown>
}

export type Namespaces = {
  take(): Promise<Namespace | Impossible>
  /** Opens one for the next `take`, so that it need not wait. */
  prepare(): void
  close(): Promise<void>
}

// After SIGTERM the keeper stays for as long as there is somebody else.
const KEEPER = [
  'echo; exec >&- 2>&-; read -r &&',
  '{ kill -TERM -1; while kill -0 -1 && { read -r -t 0.02; (($? > 128)); }; do :; done; }',
].join(' ')

/** Even SIGKILL does not end a process that hangs in the kernel. Nobody is held up by one for longer. */
export const GIVE_UP_AFTER_MS = 10_000

// What is mounted on the machine later is not seen in a namespace, so one that waits must not grow old.
const SPARE_FOR_MS = 5_000

/** Opening a namespace takes almost as long as running a small command. */
export function createNamespaces(tools: LocalTools): Namespaces {
  const open = new Set<Namespace>()
  let spare: { opening: Promise<Namespace | Impossible>; timer: NodeJS.Timeout } | undefined

  async function openOne(): Promise<Namespace | Impossible> {
    const opened = await openNamespace(tools)
    if ('kind' in opened) return opened
    open.add(opened)
    opened.gone.then(() => open.delete(opened))
    return opened
  }

  async function dropSpare(): Promise<void> {
    const opened = await takeSpare()
    if (opened && !('kind' in opened)) opened.end()
  }

  function takeSpare(): Promise<Namespace | Impossible> | undefined {
    const taken = spare
    spare = undefined
    clearTimeout(taken?.timer)
    return taken?.opening
  }

  return {
    async take() {
      const prepared = await takeSpare()
      return prepared && !('kind' in prepared) && open.has(prepared) ? prepared : openOne()
    },
    prepare() {
      spare ??= { opening: openOne(), timer: setTimeout(dropSpare, SPARE_FOR_MS).unref() }
    },
    async close() {
      await dropSpare()
      await atMost(GIVE_UP_AFTER_MS, Promise.all([...open].map(({ gone }) => gone)))
    },
  }
}

/** With a /proc that shows this namespace alone: the process ids that scripts find there would be wrong otherwise. */
async function openNamespace(tools: LocalTools): Promise<Namespace | Impossible> {
  const own = isRoot() ? [] : ['--user', '--map-current-user']
  const options = [...own, '--pid', '--fork', '--kill-child', '--mount-proc']
  // Ends when the keeper has, and that is when everything else in the namespace has.
  const unshare = spawn(tools.unshare, [...options, BASH, '--norc', '-c', KEEPER], {
    cwd: '/',
    detached: true,
    env: { PATH: STANDARD_PATH },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const gone = mainEnd(unshare)
  let errors = ''
  unshare.stdin.on('error', () => {})
  unshare.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const ready = await new Promise<boolean>((resolve) => {
    unshare.stdout.once('data', () => resolve(true))
    unshare.once('error', () => resolve(false))
    unshare.once('close', () => resolve(false))
  })
  const keeper = ready ? childOf(unshare.pid!) : undefined
  const end = () => void unshare.stdin.end()
  if (keeper !== undefined) return { keeper, terminate: () => void unshare.stdin.write('\n'), end, gone }
  end()
  await gone
  return {
    kind: 'impossible',
    message: `the command could not be started: ${errors.trim() || 'no namespace'}`,
  }
}

function childOf(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()) || undefined
  } catch {
    return undefined
  }
}
