// Guards are shared: one for each account, for as long as commands need it and a little longer.

import type { Impossible, Unreachable } from './executor.ts'
import type { Guard } from './guard.ts'

/** A guard at work, and what else its opener wants to know about it. */
export type Posted<Extra = unknown> = { guard: Guard; extra: Extra }
export type Lease<Extra> = Posted<Extra> & { release(): void }

export type GuardPool<Extra> = {
  /**
   * The guard for this key, opened when there is none. Waits while all places are taken by guards of other keys
   * that are in use; one that is not makes room.
   */
  take(key: string): Promise<Lease<Extra> | Impossible | Unreachable>
  /** Resolves when every guard has ended. */
  close(): Promise<void>
}

type Post<Extra> = { opening: Promise<Posted<Extra> | Impossible | Unreachable>; users: number }

export function createGuardPool<Extra>(
  places: number,
  open: (key: string) => Promise<Posted<Extra> | Impossible | Unreachable>,
): GuardPool<Extra> {
  const posts = new Map<string, Post<Extra>>()
  let released = Promise.withResolvers<void>()

  /** Counts the caller as a user at once, so that nobody dismisses the guard before it is used. */
  async function post(key: string): Promise<Post<Extra>> {
    for (;;) {
      const known = posts.get(key)
      if (known) {
        known.users++
        return known
      }
      if (posts.size < places) break
      const idle = posts.entries().find(([, { users }]) => users === 0)
      if (idle) await dismiss(...idle)
      else await released.promise
    }
    const fresh: Post<Extra> = { opening: open(key), users: 1 }
    posts.set(key, fresh)
    const leave = () => posts.get(key) === fresh && posts.delete(key)
    fresh.opening.then((opened) => ('guard' in opened ? opened.guard.gone.then(leave) : leave()), leave)
    return fresh
  }

  async function dismiss(key: string, { opening }: Post<Extra>): Promise<void> {
    if (posts.get(key)?.opening === opening) posts.delete(key)
    const opened = await opening.catch(() => undefined)
    if (!opened || !('guard' in opened)) return
    opened.guard.close()
    await opened.guard.gone
  }

  return {
    async take(key) {
      const taken = await post(key)
      const release = () => {
        taken.users--
        released.resolve()
        released = Promise.withResolvers()
      }
      try {
        const opened = await taken.opening
        if ('guard' in opened) return { ...opened, release }
        release()
        return opened
      } catch (error) {
        release()
        throw error
      }
    },
    async close() {
      await Promise.all([...posts].map(([key, one]) => dismiss(key, one)))
    },
  }
}
