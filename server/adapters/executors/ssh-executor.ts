// Commands at the other end of an SSH connection. Besides the channels of the commands, each account that runs any
// has one for its guard.

import type { ClientChannel } from 'ssh2'
import { createDetachedAccounts } from './detached-accounts.ts'
import { type CommandEnd, type Impossible, type Unreachable, unreachable } from './executor.ts'
import { createMarks, GUARD, type Guard, type GuardSettings, openGuard } from './guard.ts'
import { createGuardPool, guardCommand } from './guard-pool.ts'
import { BOOTSTRAP, MARK_VARIABLE } from './preamble.ts'
import { accountOf, collectErrors, noChannel, prefixesFor, whyNoBash } from './ssh-account.ts'
import { printable, type SshConnection } from './ssh-connection.ts'
import { createExecutor } from './supervise.ts'

type Settings = { silence: GuardSettings['silence']; startTimeoutMs: number }

// By default servers allow ten channels per connection. With the guards and two supervisors these make ten.
const CONCURRENT_COMMANDS = 6
const CONCURRENT_GUARDS = 2

export function createSshExecutor(connection: SshConnection, { silence, startTimeoutMs }: Settings) {
  const marks = createMarks()
  const acquireSlot = createSlots(CONCURRENT_COMMANDS)
  const guards = createGuardPool(CONCURRENT_GUARDS, startGuard)
  /** How the login account switches to another; set when the guard of that account has started. */
  const prefixes = new Map<string, string>()

  /** Also finds out whether, and how, the login account may switch to another. */
  async function startGuard(user: string): Promise<Guard | Impossible | Unreachable> {
    let said = ''
    for (const prefix of prefixesFor(user, connection.username)) {
      const channel = await connection.openChannel(`exec ${prefix}bash --norc -c '${GUARD}'`)
      if (!channel) return noChannel(connection)
      const errors = collectErrors(channel)
      const timer = setTimeout(() => channel.close(), startTimeoutMs)
      const guard = await openGuard(channel, channel, { marks: marks.prefix, silence })
      clearTimeout(timer)
      if (typeof guard !== 'string') {
        prefixes.set(user, prefix)
        return guard
      }
      said ||= printable(errors() || guard)
    }
    return whyNoBash(connection, user, said)
  }

  const detached = createDetachedAccounts(connection, { startTimeoutMs })
  const executor = createExecutor({
    async launch({ runAsUser, signal }) {
      const user = accountOf(runAsUser, connection.username)
      if (typeof user !== 'string') return user
      const releaseSlot = await acquireSlot(signal)
      if (!releaseSlot) return { kind: 'cancelled' }
      const lease = await guards.acquire(user)
      if (!('guard' in lease)) {
        releaseSlot()
        return lease
      }
      const mark = marks.next()
      const bash = `env ${MARK_VARIABLE}=${mark} bash --norc -c '${BOOTSTRAP}' bash`
      const channel = await connection.openChannel(`exec ${prefixes.get(user)}${bash}`)
      if (!channel) {
        lease.release()
        releaseSlot()
        return noChannel(connection)
      }
      const guarded = guardCommand(lease, mark, () => guards.acquire(user))
      return {
        ...followChannel(connection, channel),
        ...guarded,
        release() {
          guarded.release()
          releaseSlot()
        },
      }
    },
    async shutDown() {
      detached.close()
      await Promise.race([guards.close(), connection.lost])
      await connection.end()
    },
  })
  return { ...executor, openDetached: detached.open }
}

/**
 * Slots, granted in the order of requests. Resolves with a function that releases the slot, or with undefined when
 * the signal came first.
 */
function createSlots(count: number): (signal: AbortSignal) => Promise<(() => void) | undefined> {
  const queue: (() => void)[] = []
  let free = count

  function release(): void {
    free++
    queue.shift()?.()
  }

  return (signal) =>
    new Promise((resolve) => {
      const grant = () => {
        free--
        signal.removeEventListener('abort', leave)
        resolve(release)
      }
      const leave = () => {
        queue.splice(queue.indexOf(grant), 1)
        resolve(undefined)
      }
      if (signal.aborted) return resolve(undefined)
      if (free > 0) return grant()
      queue.push(grant)
      signal.addEventListener('abort', leave, { once: true })
    })
}

function followChannel(connection: SshConnection, channel: ClientChannel) {
  const ended = new Promise<CommandEnd>((resolve) => {
    channel.on('exit', (code: number | null, name = '') => {
      const signal = /^SIG[A-Z0-9]+$/.test(name) ? name : 'unknown signal'
      resolve(code === null ? { kind: 'signalled', signal } : { kind: 'exited', code })
    })
    // The library closes the channels of a lost connection before it reports why; `lost` comes first when it can.
    channel.on('close', () => {
      setImmediate(() => {
        const lost = connection.lostReason()
        resolve(unreachable(lost ?? 'the server closed the channel before the command ended'))
      })
    })
    connection.lost.then((message) => resolve(unreachable(message)))
  })
  return { stdin: channel, stdout: channel, ended, startupError: collectErrors(channel) }
}
