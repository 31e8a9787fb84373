import { setTimeout as pause } from 'node:timers/promises'
import { atMost } from './at-most.ts'
import type { CommandEnd } from './executor.ts'
import type { Lease } from './guard-pool.ts'
import type { LaunchedCommand } from './supervise.ts'

const MOST_REPLACEMENTS = 5
const COUNT_EVERY_MS = 50
// Even SIGKILL does not end a process that hangs in the kernel. A command is not held up by one for longer.
const GIVE_UP_AFTER_MS = 10_000

export type Guarding = Required<Pick<LaunchedCommand, 'onStarted' | 'terminate' | 'kill' | 'release'>>

/**
 * Ends the processes of one command through a guard. A guard that is gone while the command runs is replaced, since
 * without one the command could outlive Gantry: a command may well have killed it.
 */
export function guardCommand<Extra>(
  first: Lease<Extra>,
  mark: string,
  another: () => Promise<Lease<Extra> | CommandEnd>,
): Guarding {
  let current: Promise<Lease<Extra> | CommandEnd> = Promise.resolve(first)
  let group: number | undefined
  let replacements = 0
  let released = false

  function follow(lease: Lease<Extra>): void {
    if (group !== undefined) lease.guard.watch(group)
    lease.guard.gone.then(() => {
      if (released || replacements++ === MOST_REPLACEMENTS) return
      lease.release()
      current = another().catch(() => ({ kind: 'impossible', message: 'there is no guard' }) as const)
      current.then((next) => 'guard' in next && follow(next))
    })
  }
  follow(first)

  async function signal(name: 'TERM' | 'KILL' | '0'): Promise<number> {
    for (let tries = 0; tries <= MOST_REPLACEMENTS; tries++) {
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
      while ((await signal('0')) > 0) await pause(COUNT_EVERY_MS)
    },
    async kill() {
      let givenUp = false
      const killing = (async () => {
        for (let ms = 0; (await signal('KILL')) > 0 && !givenUp; ms = 20) await pause(ms)
      })()
      await atMost(GIVE_UP_AFTER_MS, killing)
      givenUp = true
    },
    release() {
      released = true
      current.then((lease) => {
        if (!('guard' in lease)) return
        if (group !== undefined) lease.guard.forget(group)
        lease.release()
      })
    },
  }
}
