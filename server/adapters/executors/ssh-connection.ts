// One SSH connection, which carries channels until it is lost.

import type { Client, ClientChannel } from 'ssh2'
import { waitAtMost } from './supervise.ts'

export type SshConnection = ReturnType<typeof createSshConnection>

const END_TIMEOUT_MS = 2_000
// Several times what a channel may have in flight. Only a server that ignores the protocol exceeds it.
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** For a client that is ready. */
export function createSshConnection(
  client: Client,
  { address, username, openTimeoutMs }: { address: string; username: string; openTimeoutMs: number },
) {
  const lost = Promise.withResolvers<string>()
  let reason: string | undefined
  const lose = (why: string) => {
    reason ??= `the connection to ${address} was lost: ${why}`
    lost.resolve(reason)
    client.destroy()
  }
  client.on('error', (error) => {
    lose(/keepalive/i.test(error.message) ? 'it no longer answers' : printable(error.message))
  })
  client.on('close', () => lose('it was closed'))
  return {
    username,
    /** Resolves with the reason when the connection has ended, on either side. Never rejects. */
    lost: lost.promise,
    lostReason: () => reason,
    async end(): Promise<void> {
      client.end()
      await waitAtMost(END_TIMEOUT_MS, lost.promise)
      client.destroy()
    },
    /** Opens a channel and has the login shell run `commandLine`. Undefined when the server rejects it. */
    openChannel(commandLine: string): Promise<ClientChannel | undefined> {
      return new Promise((resolve) => {
        const timer = setTimeout(lose, openTimeoutMs, 'it does not open channels')
        const opened = (channel: ClientChannel | undefined) => {
          clearTimeout(timer)
          resolve(channel)
        }
        lost.promise.then(() => opened(undefined))
        try {
          client.exec(commandLine, (error, channel) => {
            if (!error) limitBuffer(channel, () => lose('it sent more than the protocol allows'))
            opened(error ? undefined : channel)
          })
        } catch {
          // The library throws when it is no longer connected; `lost` has the reason.
          opened(undefined)
        }
      })
    },
  }
}

/** The library buffers whatever a server sends, even beyond the window that it was given. */
function limitBuffer(channel: ClientChannel, onExceeded: () => void): void {
  const push = channel.push.bind(channel)
  channel.push = (chunk, encoding) => {
    if (channel.readableLength > MAX_UNREAD_BYTES) {
      onExceeded()
      return false
    }
    return push(chunk, encoding)
  }
}

/** Servers influence some messages. */
export function printable(text: string): string {
  return text
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, 300)
}
