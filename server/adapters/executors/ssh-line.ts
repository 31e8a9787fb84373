// One SSH connection, seen as a line that carries channels until it is lost.

import type { Client, ClientChannel } from 'ssh2'
import { atMost } from './at-most.ts'
import { plain } from './ssh-reasons.ts'

export type SshLine = {
  username: string
  /** Opens a channel and has the login shell run `commandLine`. Undefined when the server refuses. */
  open(commandLine: string): Promise<ClientChannel | undefined>
  /** Resolves with the reason when the connection has ended, whoever ended it. Never rejects. */
  lost: Promise<string>
  whyLost(): string | undefined
  end(): Promise<void>
}

const FAREWELL_MS = 2_000
// Several times what a channel may have under way. Only a server that ignores the rules gets there.
const MOST_UNREAD_BYTES = 16 * 1024 * 1024

/** For a client that is ready. */
export function createSshLine(
  client: Client,
  { place, username, openTimeoutMs }: { place: string; username: string; openTimeoutMs: number },
): SshLine {
  const lost = Promise.withResolvers<string>()
  let reason: string | undefined
  const lose = (why: string) => {
    reason ??= `the connection to ${place} was lost: ${why}`
    lost.resolve(reason)
    client.destroy()
  }
  client.on('error', (error) => {
    lose(/keepalive/i.test(error.message) ? 'it no longer answers' : plain(error.message))
  })
  client.on('close', () => lose('it was closed'))
  return {
    username,
    lost: lost.promise,
    whyLost: () => reason,
    async end() {
      client.end()
      await atMost(FAREWELL_MS, lost.promise)
      client.destroy()
    },
    open(commandLine) {
      return new Promise((resolve) => {
        const timer = setTimeout(lose, openTimeoutMs, 'it does not open channels')
        const opened = (channel: ClientChannel | undefined) => {
          clearTimeout(timer)
          resolve(channel)
        }
        lost.promise.then(() => opened(undefined))
        try {
          client.exec(commandLine, (error, channel) => {
            if (!error) holdToTheRules(channel, () => lose('it sent more than it may'))
            opened(error ? undefined : channel)
          })
        } catch {
          // The library throws when it is no longer connected; `lost` tells.
          opened(undefined)
        }
      })
    },
  }
}

/** The library stores whatever a server sends, even if it was never allowed to. */
function holdToTheRules(channel: ClientChannel, onBroken: () => void): void {
  const push = channel.push.bind(channel)
  channel.push = (chunk, encoding) => {
    if (channel.readableLength > MOST_UNREAD_BYTES) {
      onBroken()
      return false
    }
    return push(chunk, encoding)
  }
}
