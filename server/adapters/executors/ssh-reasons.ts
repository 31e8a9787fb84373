// Why a server could not be reached, in words for the person who set it up.

import { fingerprint, formatHostKey } from './host-key.ts'

export type SshFault = Error & { code?: unknown; level?: unknown }

export type Attempted = {
  host: string
  port: number
  username: string
  timeoutMs: number
  /** When the host key was the reason; `expected` is a fingerprint. */
  refusedKey: { expected: string; offered: Buffer } | null
}

export function whyUnreachable(fault: SshFault, attempted: Attempted): string {
  const { host, port, username, timeoutMs, refusedKey } = attempted
  const place = `${host}:${port}`
  if (refusedKey) {
    const { expected, offered } = refusedKey
    return (
      `the host key of ${place} is not the known one: expected ${expected}, ` +
      `got ${fingerprint(offered)} (${formatHostKey(offered).split(' ')[0]}). ` +
      'If the server was set up anew, change its host key; if not, someone may be listening in'
    )
  }
  switch (fault.code) {
    case 'ECONNREFUSED':
      return `${place} refused the connection: no SSH server is listening there`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${host} could not be resolved`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `there is no route to ${place}`
    case 'ETIMEDOUT':
      return `${place} did not answer in time`
    case 'ECONNRESET':
    case 'EPIPE':
      return `${place} broke the connection off`
  }
  if (fault.level === 'client-timeout') {
    return `${place} did not answer in time: no SSH connection within ${timeoutMs / 1000} seconds`
  }
  if (fault.level === 'client-authentication') return `${place} does not accept the key for ${username}`
  if (/before handshake/.test(fault.message)) return `${place} closed the connection: is it an SSH server?`
  return `no SSH connection to ${place}: ${plain(fault.message)}`
}

/** Servers have a say in some messages. */
export function plain(text: string): string {
  return text
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, 300)
}

/** What is wrong with a private key. `problem`: what the parser says; it never quotes the key. */
export function whyKeyUnreadable(problem: string, hasPassphrase: boolean): string {
  if (/no passphrase given/i.test(problem)) return 'the private key is encrypted, and no passphrase was given'
  if (/passphrase|integrity check/i.test(problem)) return 'the passphrase does not fit the private key'
  // A wrong passphrase also shows as rubbish where the key should be.
  if (hasPassphrase && /malformed|unable to (parse|authenticate)|bad decrypt/i.test(problem)) {
    return 'the passphrase does not fit the private key'
  }
  return 'the private key cannot be read: it must be a private key in OpenSSH or PEM format'
}
