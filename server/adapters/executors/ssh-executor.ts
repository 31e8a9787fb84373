// Commands on the other end of an SSH connection. Next to the channels of the commands, each account that runs any
// has one for its guard.

import type { ClientChannel } from 'ssh2'
import { createExecutor, createMarks } from './create-executor.ts'
import {
  COMMANDS_AT_ONCE,
  type CommandEnd,
  type Executor,
  type Impossible,
  type Unreachable,
} from './executor.ts'
import { GUARD, type GuardSettings, openGuard } from './guard.ts'
import { createGuardPool, type Posted } from './guard-pool.ts'
import { guardCommand } from './guarded.ts'
import { createPlaces } from './places.ts'
import { BOOTSTRAP, MARK_VARIABLE } from './preamble.ts'
import type { SshLine } from './ssh-line.ts'
import { plain } from './ssh-reasons.ts'
import type { LaunchedCommand } from './supervise.ts'

type Settings = { silence: GuardSettings['silence']; startTimeoutMs: number }

/** The account of the connection itself. */
const LOGIN = ''
// Servers allow ten channels for one connection unless told otherwise. With the commands these make eight.
const GUARDS_AT_ONCE = 2
const ACCOUNT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/

export function createSshExecutor(line: SshLine, { silence, startTimeoutMs }: Settings): Executor {
  const marks = createMarks()
  const places = createPlaces(COMMANDS_AT_ONCE)
  const guards = createGuardPool<{ switching: string }>(GUARDS_AT_ONCE, postGuard)

  /** Also finds out whether, and how, the login account may become another. */
  async function postGuard(user: string): Promise<Posted<{ switching: string }> | Impossible | Unreachable> {
    let said = ''
    for (const switching of waysToBecome(user, line.username)) {
      const channel = await line.open(`exec ${switching}bash --norc -c '${GUARD}'`)
      if (!channel) return noChannel()
      const complaint = collectErrors(channel)
      const timer = setTimeout(() => channel.close(), startTimeoutMs)
      const guard = await openGuard(channel, channel, { marks: marks.beginning, silence })
      clearTimeout(timer)
      if (typeof guard !== 'string') return { guard, extra: { switching } }
      said ||= plain(complaint() || guard)
    }
    const lost = line.whyLost()
    if (lost) return { kind: 'unreachable', message: lost }
    const what =
      user === LOGIN ? `the account ${line.username} cannot run bash` : `commands cannot run as ${user}`
    return { kind: 'impossible', message: `${what} on this server: ${said || 'no answer'}` }
  }

  function noChannel(): Unreachable {
    const message =
      line.whyLost() ?? 'the server refuses to open another channel (MaxSessions in sshd_config)'
    return { kind: 'unreachable', message }
  }

  return createExecutor({
    async launch({ runAsUser, signal }) {
      const user = runAsUser === null || runAsUser === line.username ? LOGIN : runAsUser
      if (runAsUser !== null && user === runAsUser && !ACCOUNT_NAME.test(user)) {
        const message = `there cannot be an account named ${JSON.stringify(user.slice(0, 80))}`
        return { kind: 'impossible', message }
      }
      const leavePlace = await places.take(signal)
      if (!leavePlace) return { kind: 'cancelled' }
      const lease = await guards.take(user)
      if (!('guard' in lease)) {
        leavePlace()
        return lease
      }
      const mark = marks.next()
      const bash = `env ${MARK_VARIABLE}=${mark} bash --norc -c '${BOOTSTRAP}' bash`
      const channel = await line.open(`exec ${lease.extra.switching}${bash}`)
      if (!channel) {
        lease.release()
        leavePlace()
        return noChannel()
      }
      const guarding = guardCommand(lease, mark, () => guards.take(user))
      return {
        ...followChannel(line, channel),
        ...guarding,
        release() {
          guarding.release()
          leavePlace()
        },
      }
    },
    async shutDown() {
      await Promise.race([guards.close(), line.lost])
      await line.end()
    },
  })
}

/**
 * Beginnings of a command line, the best first. Root needs no sudo, and many servers where one logs in as root have
 * none. The last tells a signal as an exit code.
 */
function waysToBecome(user: string, username: string): string[] {
  if (user === LOGIN) return ['']
  const sudo = `sudo -n -u ${user} -- `
  if (username !== 'root') return [sudo]
  const setpriv = `setpriv --reuid=${user} --regid=$(id -g ${user}) --init-groups --reset-env -- `
  return [setpriv, sudo, `runuser -u ${user} -- `]
}

type Followed = Pick<LaunchedCommand, 'stdin' | 'stdout' | 'ended' | 'complaint'>

function followChannel(line: SshLine, channel: ClientChannel): Followed {
  const ended = new Promise<CommandEnd>((resolve) => {
    channel.on('exit', (code: number | null, name = '') => {
      const signal = /^SIG[A-Z0-9]+$/.test(name) ? name : 'unknown signal'
      resolve(code === null ? { kind: 'signalled', signal } : { kind: 'exited', code })
    })
    // The library closes the channels of a lost connection before it tells why; `lost` comes first when it can.
    channel.on('close', () => {
      setImmediate(() => {
        const message = line.whyLost() ?? 'the server closed the channel before the command had ended'
        resolve({ kind: 'unreachable', message })
      })
    })
    line.lost.then((message) => resolve({ kind: 'unreachable', message }))
  })
  return { stdin: channel, stdout: channel, ended, complaint: collectErrors(channel) }
}

/** What is printed as an error before bash takes over: by the login shell, by sudo. */
function collectErrors(channel: ClientChannel): () => string {
  let text = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-2_000)
  })
  return () => text.trim()
}
