// Commands share guards: one for each account, for as long as commands need it and a little longer.

import { setTimeout as pause } from 'node:timers/promises'
import { type CommandEnd, type Impossible, impossible, type Unreachable } from './executor.ts'
import type { Guard, GuardSignal } from './guard.ts'
import { KILL_TIMEOUT_MS, type LaunchedCommand, waitAtMost } from './supervise.ts'

/** A running guard, and what else its opener wants to know about it. */
export type OpenedGuard<Extra = unknown> = { guard: Guard; extra: Extra }
export type Lease<Extra> = OpenedGuard<Extra> & { release(): void }

export type GuardPool<Extra> = {
  /**
   * The guard for this key, opened when there is none. Waits while guards of other keys that are in use fill the
   * pool; one that is not in use makes room.
   */
  acquire(key: string): Promise<Lease<Extra> | Impossible | Unreachable>
  /** Resolves when every guard has ended. */
  close(): Promise<void>
}

type Entry<Extra> = { opening: Promise<OpenedGuard<Extra> | Impossible | Unreachable>; users: number }

export function createGuardPool<Extra>(
  size: number,
  open: (key: string) => Entry<Extra>['opening'],
): GuardPool<Extra> {
  const entries = new Map<string, Entry<Extra>>()
  let released = Promise.withResolvers<void>()

  /** Counts the caller as a user at once, so that the guard is not evicted before it is used. */
  async function use(key: string): Promise<Entry<Extra>> {
    for (;;) {
      const known = entries.get(key)
      if (known) {
        known.users++
        return known
      }
      if (entries.size < size) break
      const idle = entries.entries().find(([, { users }]) => users === 0)
      if (idle) await evict(...idle)
      else await released.promise
    }
    const fresh: Entry<Extra> = { opening: open(key), users: 1 }
    entries.set(key, fresh)
    const forget = () => entries.get(key) === fresh && entries.delete(key)
    fresh.opening.then((opened) => ('guard' in opened ? opened.guard.gone.then(forget) : forget()), forget)
    return fresh
  }

  async function evict(key: string, { opening }: Entry<Extra>): Promise<void> {
    if (entries.get(key)?.opening === opening) entries.delete(key)
    const opened = await opening.catch(() => undefined)
    if (!opened || !('guard' in opened)) return
    opened.guard.close()
    await opened.guard.gone
  }

  return {
    async acquire(key) {
      const entry = await use(key)
      const release = () => {
        entry.users--
        released.resolve()
        released = Promise.withResolvers()
      }
      const opened = await entry.opening.catch((error) => {
        release()
        throw error
      })
      if ('guard' in opened) return { ...opened, release }
      release()
      return opened
    },
    async close() {
      await Promise.all([...entries].map(([key, entry]) => evict(key, entry)))
    },
  }
}

const MAX_REPLACEMENTS = 5
const COUNT_INTERVAL_MS = 50

/**
 * Ends the processes of one command through a guard. A guard that dies while the command runs is replaced, since
 * without one the command could outlive Gantry: the command itself may have killed it.
 */
export function guardCommand<Extra>(
  first: Lease<Extra>,
  mark: string,
  acquire: () => Promise<Lease<Extra> | CommandEnd>,
): Required<Pick<LaunchedCommand, 'onStarted' | 'terminate' | 'kill' | 'release'>> {
  let current: Promise<Lease<Extra> | CommandEnd> = Promise.resolve(first)
  let group: number | undefined
  let replacements = 0
  let released = false

  function follow(lease: Lease<Extra>): void {
    if (group !== undefined) lease.guard.watch(group)
    lease.guard.gone.then(() => {
      if (released || replacements++ === MAX_REPLACEMENTS) return
      lease.release()
      current = acquire().catch(() => impossible('there is no guard'))
      current.then((next) => 'guard' in next && follow(next))
    })
  }
  follow(first)

  async function signal(name: GuardSignal): Promise<number> {
    for (let tries = 0; tries <= MAX_REPLACEMENTS; tries++) {
      const lease = await current
      if (!('guard' in lease)) return 0
      const count = await lease.guard.signal(name, mark, group).catch(() => undefined)
      if (count !== undefined) return count
    }
    return 0
  }

  return {
    onStarted(pid) {
      group = pid
      current.then((lease) => 'guard' in lease && lease.guard.watch(pid))
    },
    async terminate() {
      await signal('TERM')
      while ((await signal('0')) > 0) await pause(COUNT_INTERVAL_MS)
    },
    async kill() {
      let abandoned = false
      const killing = (async () => {
        for (let ms = 0; (await signal('KILL')) > 0 && !abandoned; ms = 20) await pause(ms)
      })()
      await waitAtMost(KILL_TIMEOUT_MS, killing)
      abandoned = true
    },
    release() {
      released = true
      current.then((lease) => {
        if (!('guard' in lease)) return
        if (group !== undefined) lease.guard.unwatch(group)
        lease.release()
      })
    },
  }
}
