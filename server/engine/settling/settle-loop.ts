// The settling room: keeps asking servers whose live release is unknown, until they answer with something that Gantry
// knows. Runs settle their own switches (runner/perform-switch); this is for what they left behind.
import { sql } from 'kysely'
import type { Connect } from '#adapters/executors/connect.ts'
import { findServer } from '#manage/servers/read-servers.ts'
import { loadAddress } from '#manage/servers/server-address.ts'
import { baseFolder } from '#model/deploy/layout.ts'
import { checkLive } from '#model/live/check-live.ts'
import type { Disk } from '#model/live/live-record.ts'
import { IS_ONLINE } from '#model/workers/live-workers.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { repeat, within } from '#platform/queue/repeat.ts'

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

/** As many connections as one process opens for this at a time. */
const MAX_CLAIMED = 16

type ClaimedServer = Disk & { folder: string }

/**
 * Servers that are due to be asked; the next time is `everySeconds` from now, whatever comes of it. Not those that were
 * unlinked from the application, nor those whose run is still in progress: it asks them itself. A local server is asked by
 * workers of its machine; without a name, while all workers share one.
 */
async function claimUnknown(
  db: Database,
  { workerName = null, everySeconds }: { workerName?: string | null; everySeconds: number },
): Promise<ClaimedServer[]> {
  const { rows } = await sql<ClaimedServer>`
    with due as materialized (
      select unknown.application_id, unknown.server_id, app.folder
      from unknown_live_releases unknown
      join application_servers link using (application_id, server_id)
      join applications app on app.id = unknown.application_id and app.deleted_at is null
      join servers s on s.id = unknown.server_id and s.deleted_at is null
      left join targets t on t.id = unknown.target_id
      where unknown.try_at <= now() and coalesce(t.status in ('completed', 'failed', 'skipped'), true)
        and (s.provider_code <> 'local' or ${workerName}::text is null or s.worker_name = ${workerName}
          or s.worker_name is null and (t.worker_name = ${workerName} or not exists (
            select from workers where ${IS_ONLINE} and name <> ${workerName})))
      order by unknown.try_at limit ${MAX_CLAIMED}::int
      for update of unknown skip locked
    )
    update unknown_live_releases unknown set try_at = now() + ${everySeconds}::int * interval '1 second' from due
    where unknown.application_id = due.application_id and unknown.server_id = due.server_id
    returning unknown.application_id as "applicationId", unknown.server_id as "serverId", due.folder`.execute(
    db,
  )
  return rows
}

/** Why it is still unknown. Does not count as a change of what is known. */
async function storeReason(db: Database, { applicationId, serverId }: Disk, reason: string): Promise<void> {
  await sql`
    update unknown_live_releases set reason = ${reason}
    where application_id = ${applicationId} and server_id = ${serverId} and reason <> ${reason}`.execute(db)
}
