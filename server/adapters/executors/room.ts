// A room: a process namespace in a view, and its keeper. One command at a time runs in it; the kernel ends everything in
// it together with the keeper. Making one takes longer than a small command, so that it is used again.

import { type Launcher, signalIfAlive } from './launcher.ts'
import { KILL_TIMEOUT_MS, waitAtMost } from './supervise.ts'

// A keeper may miss a signal: see launcher.ts.
const REPEAT_MS = 500

export type Room = Exclude<Awaited<ReturnType<typeof openRoom>>, { problem: string }>

/** `as`: what its commands run as. */
export async function openRoom(launcher: Launcher, view: number, as: 'root' | 'account') {
  const opened = Promise.withResolvers<number | { problem: string }>()
  const gone = Promise.withResolvers<void>()
  let keeper: number | undefined
  let onClean: (() => void) | undefined
  let repeating: NodeJS.Timeout | undefined
  launcher.order(
    (id) => `room ${id} ${view} ${as} &`,
    (report) => {
      if (report?.word === 'clean') return onClean?.()
      keeper = report?.word === 'at' ? report.number : undefined
      opened.resolve(keeper ?? { problem: report?.rest || 'the launcher of local commands was killed' })
      if (keeper === undefined) gone.resolve()
    },
  )
  const pid = await opened.promise
  if (typeof pid !== 'number') return pid

  const signal = (name: NodeJS.Signals) => {
    if (keeper !== undefined) signalIfAlive(keeper, name)
  }
  const repeat = (name: NodeJS.Signals) => {
    clearInterval(repeating)
    signal(name)
    repeating = setInterval(signal, REPEAT_MS, name)
    void gone.promise.then(() => clearInterval(repeating))
  }
  const kill = async () => {
    clearInterval(repeating)
    signal('SIGKILL')
    await waitAtMost(KILL_TIMEOUT_MS, gone.promise)
  }
  return {
    keeper: pid,
    isAlive: () => keeper !== undefined,
    /** Ends what a command has left behind. Returns whether the room can be used again; if not, it is gone. */
    async clean(): Promise<boolean> {
      const cleaned = new Promise<true>((resolve) => {
        onClean = () => resolve(true)
      })
      signal('SIGTERM')
      await waitAtMost(REPEAT_MS, Promise.race([cleaned, gone.promise]))
      const isClean = (await Promise.race([cleaned, undefined])) ?? false
      if (!isClean) await kill()
      return isClean
    },
    /** SIGTERM to everything in it. */
    terminate: () => repeat('SIGUSR1'),
    /** After `terminate`, when the command itself has ended: what else is alive still has time. */
    async end(): Promise<void> {
      repeat('SIGUSR2')
      await gone.promise
    },
    /** SIGKILL to everything in it. */
    kill,
  }
}
