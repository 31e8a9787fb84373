// The settling room: keeps asking servers whose live release is unknown, until they answer with something that Gantry
// knows. Runs settle their own switches (runner/perform-switch); this is for what they left behind.
import type { Connect } from '#adapters/executors/connect.ts'
import { findServer } from '#manage/servers/read-servers.ts'
import { loadAddress } from '#manage/servers/server-address.ts'
import { baseFolder } from '#model/deploy/layout.ts'
import { checkLive } from '#model/live/check-live.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { repeat, within } from '#platform/queue/repeat.ts'
import { type ClaimedServer, claimUnknown, storeReason } from './claim-unknown.ts'

const CONNECT_MS = 30_000
/** How long a stopping process waits for what it writes. */
const LAST_WRITES_MS = 2_000

export type SettlingOptions = {
  db: Database
  box: SecretBox
  connect: Connect
  /** Only servers of this machine are asked from it, if they are local; undefined: there is no other one. */
  workerName: string | undefined
  /** How often it looks for servers that are due, and how often it asks one. */
  pollMs: number
  everySeconds: number
  isPaused: () => boolean
  onError: (error: Error) => void
}

/** Any number of processes may do this side by side: a server that one of them asks is not due for a while. */
export function startSettling(options: SettlingOptions): { stop(): Promise<void> } {
  const { db, box, connect, onError } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const asking = new Set<Promise<void>>()

  async function claim(): Promise<void> {
    if (options.isPaused()) return
    for (const claimed of await claimUnknown(db, options)) {
      const work = ask(claimed)
        .catch((error) => {
          if (!signal.aborted) onError(error)
        })
        .finally(() => asking.delete(work))
      asking.add(work)
    }
  }

  async function ask({ applicationId, serverId, folder }: ClaimedServer): Promise<void> {
    const server = await findServer(db, serverId)
    if (!server) return
    const address = await loadAddress({ db, box }, server)
    const connection =
      'message' in address
        ? { kind: 'unreachable' as const, message: address.message }
        : await connect(address, { signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) })
    const disk = { applicationId, serverId }
    if (connection.kind === 'unreachable')
      return storeReason(db, disk, `The server could not be reached: ${connection.message}.`)
    if (connection.kind === 'cancelled') return
    try {
      const base = baseFolder(server.root_directory, folder)
      const reason = await checkLive(db, connection.executor, { ...disk, base }, signal)
      if (reason !== null && !signal.aborted) await storeReason(db, disk, reason)
    } finally {
      await connection.executor.close()
    }
  }

  const polling = repeat(options.pollMs, signal, claim, { onError: (error) => onError(error as Error) })

  return {
    async stop() {
      stopping.abort()
      await polling
      await within(LAST_WRITES_MS, Promise.all(asking))
    },
  }
}
