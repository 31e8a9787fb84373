// The sandboxes of local commands, and the views that they are in. Both are kept for the next commands for a while.

import { impossible, unreachable } from './executor.ts'
import type { View } from './hidden.ts'
import { createLaunchers, type Launcher } from './launcher.ts'
import type { LocalTools } from './local-backend.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'
import { makeView, readOnlyFiles, type ViewProblem, viewKey } from './view.ts'

// A view does not show what is mounted on the machine later, so it must not grow old.
const VIEW_FOR_MS = 5_000

/** Of one view and account. */
const MAX_FREE_SANDBOXES = 4

type PreparedView = {
  launcher: Launcher
  number: Promise<number | ViewProblem>
  timer: NodeJS.Timeout
  /** Sandboxes in which nothing runs, by the account that they are for. */
  free: Map<string, Sandbox[]>
  /** False when its launcher is about to forget it, or to end. */
  isUsable: boolean
}

/** A sandbox for one command, and the launcher that can start it there. */
export type TakenSandbox = {
  launcher: Launcher
  sandbox: Sandbox
  /** After the command: for another one, if nothing of this one is left. */
  giveBack(isKilled: boolean): Promise<void>
}

type SandboxRequest = { view: View; account: string; asRoot: boolean }

export function createSandboxPool(tools: LocalTools) {
  const views = new Map<string, PreparedView>()
  const launchers = createLaunchers(tools, () => views.keys().forEach(discardView))

  function discardView(key: string): PreparedView | undefined {
    const view = views.get(key)
    views.delete(key)
    clearTimeout(view?.timer)
    if (view) view.isUsable = false
    for (const sandbox of [...(view?.free.values() ?? [])].flat()) void sandbox.kill()
    return view
  }

  function prepareView({ view, asRoot }: SandboxRequest): PreparedView {
    const key = viewKey(view, asRoot)
    const known = views.get(key)
    if (known) return known
    const launcher = launchers.current()
    const number = makeView(launcher, view, asRoot)
    const forget = async () => {
      const made = discardView(key) && (await number)
      if (typeof made === 'number') launcher.forget(made)
    }
    const timer = setTimeout(forget, VIEW_FOR_MS).unref()
    const prepared = { launcher, number, timer, free: new Map(), isUsable: true }
    views.set(key, prepared)
    number.then((made) => typeof made !== 'number' && views.get(key) === prepared && discardView(key))
    return prepared
  }

  return {
    /** In a view of these files, for this account. `start` is called while the launcher of the sandbox takes orders. */
    async take<Started>(request: SandboxRequest, start: (taken: TakenSandbox) => Started) {
      launchers.next()
      for (;;) {
        const prepared = prepareView(request)
        const { launcher } = prepared
        const number = await prepared.number
        if (typeof number !== 'number')
          return unreachable(`local steps cannot be isolated: ${number.problem}`)
        // Its launcher may be about to end, and would not answer.
        if (!prepared.isUsable) continue
        const free = prepared.free.getOrInsert(request.account, [])
        const sandbox =
          takeAlive(free) ?? (await openSandbox(launcher, number, readOnlyFiles(request.asRoot)))
        if ('problem' in sandbox) return impossible(sandbox.problem)
        const giveBack = async (isKilled: boolean) => {
          const isClean = !isKilled && (await sandbox.clean())
          if (isClean && prepared.isUsable && free.length < MAX_FREE_SANDBOXES) free.push(sandbox)
          else await sandbox.kill()
        }
        if (prepared.isUsable) return start({ launcher, sandbox, giveBack })
        void sandbox.kill()
      }
    },
    makeFifos: (paths: string[]) => launchers.next().makeFifos(paths),
    /** Call when commands no longer run. */
    close: launchers.close,
  }
}

function takeAlive(free: Sandbox[]): Sandbox | undefined {
  const sandbox = free.pop()
  return sandbox === undefined || sandbox.isAlive() ? sandbox : takeAlive(free)
}
