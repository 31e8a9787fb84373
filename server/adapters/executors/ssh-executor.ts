// Commands at the other end of an SSH connection. Besides the channels of the commands, each account that runs any
// has one for its guard.

import type { ClientChannel } from 'ssh2'
import { type CommandEnd, type Impossible, impossible, type Unreachable, unreachable } from './executor.ts'
import { createMarks, GUARD, type Guard, type GuardSettings, openGuard } from './guard.ts'
import { createGuardPool, guardCommand } from './guard-pool.ts'
import { BOOTSTRAP, MARK_VARIABLE } from './preamble.ts'
import { printable, type SshConnection } from './ssh-connection.ts'
import { createExecutor } from './supervise.ts'

type Settings = { silence: GuardSettings['silence']; startTimeoutMs: number }

/** The account of the connection itself. */
const LOGIN = ''
// By default servers allow ten channels per connection. With the guards these make eight.
const CONCURRENT_COMMANDS = 6
const CONCURRENT_GUARDS = 2
const ACCOUNT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/

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
      if (!channel) return noChannel()
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
    const lost = connection.lostReason()
    if (lost) return unreachable(lost)
    const what =
      user === LOGIN ? `the account ${connection.username} cannot run bash` : `commands cannot run as ${user}`
    return impossible(`${what} on this server: ${said || 'no answer'}`)
  }

  function noChannel(): Unreachable {
    return unreachable(
      connection.lostReason() ?? 'the server refuses to open another channel (MaxSessions in sshd_config)',
    )
  }

  return createExecutor({
    async launch({ runAsUser, signal }) {
      const user = runAsUser === null || runAsUser === connection.username ? LOGIN : runAsUser
      if (runAsUser !== null && user === runAsUser && !ACCOUNT_NAME.test(user))
        return impossible(`${JSON.stringify(user.slice(0, 80))} is not a valid account name`)
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
        return noChannel()
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
      await Promise.race([guards.close(), connection.lost])
      await connection.end()
    },
  })
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

/**
 * Beginnings of a command line that switch accounts, best first. Root needs no sudo, and many servers with root
 * logins have none. The last reports a signal as an exit code.
 */
function prefixesFor(user: string, username: string): string[] {
  if (user === LOGIN) return ['']
  const sudo = `sudo -n -u ${user} -- `
  if (username !== 'root') return [sudo]
  const setpriv = `setpriv --reuid=${user} --regid=$(id -g ${user}) --init-groups --reset-env -- `
  return [setpriv, sudo, `runuser -u ${user} -- `]
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

/** What the login shell or sudo prints as an error before bash starts. */
function collectErrors(channel: ClientChannel): () => string {
  let text = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-2_000)
  })
  return () => text.trim()
}
