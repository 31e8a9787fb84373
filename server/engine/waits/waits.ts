// The waits room: requests that start a run and stay open until it has ended (`Prefer: wait`). A wait holds neither a
// database connection nor the body of its request.
import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { ACCESS_CHANNEL } from '#access/authorization/channel.ts'
import type { ActionNotifications } from '#model/actions/notifications.ts'
import { isEnd } from '#model/actions/status.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { isOutage } from '#platform/database/outages.ts'
import { shareStatement } from '#platform/database/share-loads.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'

/** Limits of waits; tests lower them. */
export const WAIT_SETTINGS = {
  /** Requests of one process that wait at the same time. */
  maxWaits: 500,
  /** Of these, calls of one hook. */
  maxPerHook: 20,
  /** Of these, requests of one user. */
  maxPerUser: 50,
  /** A wait reads the status this often, in case a notification was lost. */
  pollMs: 15_000,
}

export type WaitSettings = typeof WAIT_SETTINGS

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes `Prefer: wait`. */
    waits?: boolean
  }
}

type Wanted = {
  seconds: number
  /** Whose limit it counts against, and whose access ends it. */
  owner: { hookId: string } | { userId: number }
  /** Asked again whenever access may have ended. */
  isAllowed: () => Promise<boolean>
  /** A wait ends when its caller is gone. */
  response: ServerResponse
}

/** The status of an action when the wait for its end was over. */
export type WaitedFor = { status: Status; status_reason_code: ReasonCode }

type Wait = { owner: Wanted['owner']; end(): void; recheck(): Promise<void> }

export type Waits = Awaited<ReturnType<typeof createWaits>>

/** One per process. */
export async function createWaits(options: {
  db: Database
  listener: Listener
  notifications: ActionNotifications
  onError: (error: Error) => void
  settings?: Partial<WaitSettings>
}) {
  const { listener, notifications, onError } = options
  const settings = { ...WAIT_SETTINGS, ...options.settings }
  const readStatus = createStatusReader(options.db, onError)
  const open = new Set<Wait>()
  let isClosed = false

  function recheck(concerns: (owner: Wanted['owner']) => boolean): void {
    for (const wait of open) if (concerns(wait.owner)) void wait.recheck()
  }
  const recheckUsers = (id?: number) =>
    recheck((owner) => 'userId' in owner && (id === undefined || owner.userId === id))
  const recheckHooks = () => recheck((owner) => 'hookId' in owner)
  await listener.subscribe(ACCESS_CHANNEL, {
    onNotify: (userId) => recheckUsers(userId === '' ? undefined : Number(userId)),
    onReconnect: () => recheckUsers(),
  })
  // Hooks are removed and switched off like everything in the tree.
  await listener.subscribe('tree', { onNotify: recheckHooks, onReconnect: recheckHooks })

  function isFull(owner: Wanted['owner']): boolean {
    if (isClosed || open.size >= settings.maxWaits) return true
    const [key, max] =
      'hookId' in owner ? [owner.hookId, settings.maxPerHook] : [owner.userId, settings.maxPerUser]
    const same = [...open].filter(
      (wait) => ('hookId' in wait.owner ? wait.owner.hookId : wait.owner.userId) === key,
    )
    return same.length >= max
  }

  return {
    /**
     * Resolves when the action has ended, the time is up, the caller is gone or may no longer know, or the service
     * stops. Undefined, at once, when too many wait; and when the status could not be read even once.
     */
    async forEnd(
      actionId: number,
      { seconds, owner, isAllowed, response }: Wanted,
    ): Promise<WaitedFor | undefined> {
      if (isFull(owner)) return undefined
      const watch = notifications.watchAction(actionId)
      let isOver = false
      const wait: Wait = {
        owner,
        end() {
          isOver = true
          watch.wake()
        },
        async recheck() {
          try {
            if (!(await isAllowed())) wait.end()
          } catch (error) {
            if (!isOutage(error)) onError(error as Error)
          }
        },
      }
      open.add(wait)
      response.once('close', wait.end)
      // The connection may be closed, or access may have ended, since the request was authenticated.
      if (response.destroyed) wait.end()
      void wait.recheck()
      const deadline = performance.now() + seconds * 1_000
      let known: WaitedFor | undefined
      let readAt = Number.NEGATIVE_INFINITY
      try {
        for (;;) {
          const isDue = watch.take().mayHaveMoved || performance.now() >= readAt + settings.pollMs
          if (isDue && !isOver) {
            known = (await readStatus(actionId)) ?? known
            readAt = performance.now()
          }
          const leftMs = deadline - performance.now()
          if (isOver || leftMs <= 0 || (known && isEnd(known.status))) return known
          await watch.wait(Math.min(leftMs, settings.pollMs))
        }
      } finally {
        open.delete(wait)
        watch.stop()
        response.off('close', wait.end)
      }
    },
    /** Ends all of them and accepts no more. */
    close() {
      isClosed = true
      for (const wait of open) wait.end()
    },
  }
}

/** Undefined when it fails: the run was accepted, so the wait goes on, and reads again when the database is back. */
function createStatusReader(db: Database, onError: (error: Error) => void) {
  const find = shareStatement<WaitedFor & { id: number }>(
    db,
    (ids) => sql`select id, status, status_reason_code from actions where id = any(${ids}::bigint[])`,
  )
  return async (actionId: number): Promise<WaitedFor | undefined> => {
    try {
      const row = await find(actionId)
      return row && { status: row.status, status_reason_code: row.status_reason_code }
    } catch (error) {
      if (!isOutage(error)) onError(error as Error)
      return undefined
    }
  }
}
