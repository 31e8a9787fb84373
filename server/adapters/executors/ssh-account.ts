// How commands get from the account of an SSH connection to another one on the same server.

import type { ClientChannel } from 'ssh2'
import { type Impossible, impossible, type Unreachable, unreachable } from './executor.ts'
import type { SshConnection } from './ssh-connection.ts'

/** The account of the connection itself. */
export const LOGIN = ''
const ACCOUNT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/

export function accountOf(runAsUser: string | null, username: string): string | Impossible {
  if (runAsUser === null || runAsUser === username) return LOGIN
  if (ACCOUNT_NAME.test(runAsUser)) return runAsUser
  return impossible(`${JSON.stringify(runAsUser.slice(0, 80))} is not a valid account name`)
}

/**
 * Beginnings of a command line that switch accounts, best first. Root needs no sudo, and many servers with root
 * logins have none. The last reports a signal as an exit code.
 */
export function prefixesFor(user: string, username: string): string[] {
  if (user === LOGIN) return ['']
  const sudo = `sudo -n -u ${user} -- `
  if (username !== 'root') return [sudo]
  const setpriv = `setpriv --reuid=${user} --regid=$(id -g ${user}) --init-groups --reset-env -- `
  return [setpriv, sudo, `runuser -u ${user} -- `]
}

/** When none of the prefixes has led to a bash. */
export function whyNoBash(connection: SshConnection, user: string, said: string): Impossible | Unreachable {
  const lost = connection.lostReason()
  if (lost) return unreachable(lost)
  const what =
    user === LOGIN ? `the account ${connection.username} cannot run bash` : `commands cannot run as ${user}`
  return impossible(`${what} on this server: ${said || 'no answer'}`)
}

export function noChannel(connection: SshConnection): Unreachable {
  return unreachable(
    connection.lostReason() ?? 'the server refuses to open another channel (MaxSessions in sshd_config)',
  )
}

/** What the login shell or sudo prints as an error before bash starts. */
export function collectErrors(channel: ClientChannel): () => string {
  let text = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-2_000)
  })
  return () => text.trim()
}
