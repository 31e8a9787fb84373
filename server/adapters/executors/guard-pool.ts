// Commands share guards: one for each account, for as long as commands need it and a little longer.

import { setTimeout as pause } from 'node:timers/promises'
import { type CommandEnd, type Impossible, impossible, type Unreachable } from './executor.ts'
import type { Guard, GuardSignal } from './guard.ts'
import { KILL_TIMEOUT_MS, waitAtMost } from './supervise.ts'

export type Lease = { guard: Guard; release(): void }
type Opening = Promise<Guard | Impossible | Unreachable>
type Entry = { opening: Opening; users: number }

export function createGuardPool(size: number, open: (key: string) => Opening) {
  const entries = new Map<string, Entry>()
  let released = Promise.withResolvers<void>()

  /** Counts the caller as a user immediately, so that the guard is not evicted before it is used. */
  async function use(key: string): Promise<Entry> {
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
    const fresh: Entry = { opening: open(key), users: 1 }
    entries.set(key, fresh)
    const forget = () => entries.get(key) === fresh && entries.delete(key)
    fresh.opening.then((opened) => ('gone' in opened ? opened.gone.then(forget) : forget()), forget)
    return fresh
  }

  async function evict(key: string, { opening }: Entry): Promise<void> {
    if (entries.get(key)?.opening === opening) entries.delete(key)
    const opened = await opening.catch(() => undefined)
    if (!opened || 'kind' in opened) return
    opened.close()
    await opened.gone
  }

  return {
    /**
     * The guard for this key, opened when there is none. Waits while guards of other keys that are in use fill the
     * pool; one that is not in use makes room.
     */
    async acquire(key: string): Promise<Lease | Impossible | Unreachable> {
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
      if ('gone' in opened) return { guard: opened, release }
      release()
      return opened
    },
    /** Resolves when every guard has ended. */
    async close(): Promise<void> {
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
export function guardCommand(first: Lease, mark: string, acquire: () => Promise<Lease | CommandEnd>) {
  let current: Promise<Lease | CommandEnd> = Promise.resolve(first)
  let group: number | undefined
  let replacements = 0
  let released = false

  function follow(lease: Lease): void {
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
    onStarted(pid: number) {
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
