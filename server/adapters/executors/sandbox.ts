// A sandbox: a process namespace in a view, and its keeper. One command at a time runs in it; the kernel ends everything in
// it together with the keeper. Making one takes longer than a small command, so it is reused.

import { type Launcher, type Report, signalIfAlive } from './launcher.ts'
import { KILL_TIMEOUT_MS, waitAtMost } from './supervise.ts'

// A keeper may miss a signal: see keeper.sh.
const REPEAT_MS = 500

export type Sandbox = Exclude<Awaited<ReturnType<typeof openSandbox>>, { problem: string }>

/** `readOnly`: files of the kernel that its commands must not write. */
export async function openSandbox(launcher: Launcher, view: number, readOnly: readonly string[]) {
  const opened = Promise.withResolvers<number | { problem: string }>()
  const gone = Promise.withResolvers<void>()
  let keeper: number | undefined
  let onClean: (() => void) | undefined
  let isSpoiled = false
  let repeating: NodeJS.Timeout | undefined
  launcher.order('sandbox', [view, ...readOnly], (report) => {
    if (report?.word === 'clean') {
      // Only a command can have asked for it.
      isSpoiled ||= onClean === undefined
      onClean?.()
      onClean = undefined
      return
    }
    keeper = report?.word === 'at' ? report.number : undefined
    opened.resolve(keeper ?? { problem: whyGone(report) })
    if (keeper === undefined) gone.resolve()
  })
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
    /** Ends what a command has left behind. Returns whether the sandbox can be reused; if not, it is gone. */
    async clean(): Promise<boolean> {
      const cleaned = new Promise<true>((resolve) => {
        onClean = () => resolve(true)
      })
      signal('SIGURG')
      await waitAtMost(REPEAT_MS, Promise.race([cleaned, gone.promise]))
      const isReusable = !isSpoiled && (await Promise.race([cleaned, undefined])) === true
      if (!isReusable) await kill()
      return isReusable
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

function whyGone(report: Report | undefined): string {
  if (!report) return 'the launcher of local commands was killed'
  return report.rest || 'the namespaces of the command could not be created'
}
