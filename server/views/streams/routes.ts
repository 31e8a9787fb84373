// The streams room: status changes and log output of actions as server-sent events. A client can resume at any
// process after a disconnect; events are read from the database at the speed of the client.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, createCallerFinder } from '#access/authorization/caller.ts'
import { ACCESS_CHANNEL } from '#access/authorization/channel.ts'
import {
  callerOf,
  permissions,
  scopeOf,
  showing,
  tokenOf,
  withTokens,
} from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { can } from '#access/authorization/permissions.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import { type ActionFilters, environmentsMatching, filtersOf } from '#model/actions/filters.ts'
import type { ActionNotifications } from '#model/actions/notifications.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { reasonOf } from '#platform/database/error-code.ts'
import type { Listener } from '#platform/database/listen.ts'
import { tooManyRequests, unavailable } from '#platform/http/errors.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { decodeCursor, startCursor } from './action-cursor.ts'
import { createAttemptNotifications } from './attempt-notifications.ts'
import { decodeCursor as decodeDeliveryCursor, encodeCursor } from './delivery-cursor.ts'
import { decodeUnseen, encodeUnseen, lastSeen } from './feed-cursor.ts'
import { createFeedTail } from './feed-tail.ts'
import { createOpenStreams, type StreamSlot } from './open-streams.ts'
import { highestId } from './read-feed.ts'
import { createLogReader, createSnapshotLoader } from './run-snapshot.ts'
import { actionStream, deliveryStream, feedStream } from './schemas.ts'
import { STREAM_SETTINGS, type StreamSettings } from './settings.ts'
import { formatId, formatRetry, HEARTBEAT, withHeartbeats } from './sse.ts'
import { streamAction } from './stream-action.ts'
import { currentPosition, streamDeliveries } from './stream-deliveries.ts'
import { matchesFilters, type SelectMoves, streamFeed } from './stream-feed.ts'
import { onAbort, readLastEventId, rejectLastEventId, setStreamHeaders } from './stream-reply.ts'

const ofActions = operationsOf('Actions')
const ofHooks = operationsOf('Hooks')

export type StreamRoutes = {
  db: Database
  box: SecretBox
  tree: Tree
  listener: Listener
  notifications: ActionNotifications
  settings?: Partial<StreamSettings>
}

export const streamRoutes: FastifyPluginAsyncTypebox<StreamRoutes> = async (
  app,
  { db, box, tree, listener, notifications, ...options },
) => {
  const settings = { ...STREAM_SETTINGS, ...options.settings }
  const onError = (error: Error) =>
    app.log.warn({ part: 'streams', ...reasonOf(error) }, 'stream error; retrying')
  const findCaller = createCallerFinder(db)
  const attempts = await createAttemptNotifications(listener)
  const loadSnapshot = createSnapshotLoader(db)
  const readLogPage = createLogReader(db)
  const feedTail = createFeedTail({ db, notifications, settings, onError })
  const streams = createOpenStreams(settings, onError)
  app.addHook('preClose', () => streams.close())
  await listener.subscribe(ACCESS_CHANNEL, {
    onNotify: (userId) => streams.recheck(userId === '' ? undefined : Number(userId)),
    onReconnect: () => streams.recheck(),
  })

  app.get(
    '/actions/:id/stream',
    ofActions(permissions('action', 'id', 'action:view'), 'streamAction', actionStream),
    async (request, reply) => {
      const { id } = request.params
      const resumeFrom = readLastEventId(request, (text) => {
        const decoded = decodeCursor(text)
        return decoded?.actionId === id ? decoded : undefined
      })
      const cursor = resumeFrom ?? startCursor(id)
      if (cursor.isEnded) return reply.code(204).send(null)
      const scope = scopeOf(request)
      const isAllowed = (caller: Caller) => can(caller, 'action:view', scope)
      return openStream(request, reply, isAllowed, async (signal) => {
        const watch = notifications.watchAction(id)
        onAbort(signal, () => {
          watch.stop()
          watch.wake()
        })
        const events = streamAction({ loadSnapshot, readLogPage, watch, signal, settings }, cursor)
        return { events, heartbeat: () => HEARTBEAT }
      })
    },
  )

  app.get(
    '/actions/stream',
    ofActions(showing('action:view'), 'streamActions', feedStream),
    async (request, reply) => {
      const filters = filtersOf(request.query)
      const resumeFrom = readLastEventId(request, decodeUnseen)
      // An id from before a database was restored would skip everything until it is reached again.
      if (resumeFrom && lastSeen(resumeFrom) > (await highestId(db))) rejectLastEventId()
      return openStream(
        request,
        reply,
        () => true,
        async (signal) => {
          const wakeUp = createSignal()
          const tail = await feedTail.join(wakeUp.notify)
          onAbort(signal, () => {
            tail.leave()
            wakeUp.notify()
          })
          const start = resumeFrom ?? tail.position().unseen
          const position = { unseen: start, reached: start }
          const select = createSelector(tokenOf(request), filters)
          const events = streamFeed({ db, tail, wakeUp, select, signal, settings }, position)
          return { events, heartbeat: () => formatId(encodeUnseen(position.reached)) }
        },
      )
    },
  )

  app.get(
    '/hooks/outgoing/:hook_id/stream',
    ofHooks(
      withTokens('hooks', permissions('outgoing hook', 'hook_id', 'hook:edit')),
      'streamDeliveries',
      deliveryStream,
    ),
    async (request, reply) => {
      const { hook_id: hookId } = request.params
      const resumeFrom = readLastEventId(request, decodeDeliveryCursor)
      const scope = scopeOf(request)
      const isAllowed = (caller: Caller) => seesHookSecrets(caller, scope)
      return openStream(request, reply, isAllowed, async (signal) => {
        const wakeUp = createSignal()
        const unsubscribe = attempts.watchHook(hookId, wakeUp.notify)
        onAbort(signal, () => {
          unsubscribe()
          wakeUp.notify()
        })
        const position = { cursor: resumeFrom ?? (await currentPosition(db, hookId)) }
        const events = streamDeliveries({ db, box, wakeUp, signal, settings }, hookId, position)
        return { events, heartbeat: () => formatId(encodeCursor(position.cursor)) }
      })
    },
  )

  /** For as long as the token is valid and `isAllowed`. Both end with the signal that `start` gets. */
  async function openStream(
    request: FastifyRequest,
    reply: FastifyReply,
    isAllowed: (caller: Caller) => boolean,
    start: (signal: AbortSignal) => Promise<{ events: AsyncGenerator<string>; heartbeat: () => string }>,
  ): Promise<never> {
    if (request.method === 'HEAD') return setStreamHeaders(reply).send() as never
    const slot = acquireSlot(callerOf(request).id)
    const token = tokenOf(request)
    const mayContinue = async () => {
      const caller = await findCaller(token)
      return caller !== undefined && isAllowed(caller)
    }
    const { events, heartbeat } = await start(slot.signal).catch((error) => {
      slot.release()
      throw error
    })
    const body = withHeartbeats(withRetry(reply, events), {
      heartbeatMs: settings.heartbeatMs,
      heartbeat,
      signal: slot.signal,
    })
    const content = slot.fill(reply.raw, body, mayContinue)
    // Access may have ended since the caller was authenticated, when nobody rechecked this stream yet.
    void slot.recheck(onError)
    return setStreamHeaders(reply).send(content) as never
  }

  async function* withRetry(reply: FastifyReply, events: AsyncGenerator<string>): AsyncGenerator<string> {
    yield formatRetry(settings.retryMs)
    try {
      yield* events
    } catch (error) {
      // The response has begun: it can only be cut off, and nothing else would say why.
      reply.log.error({ err: error }, 'stream failed unexpectedly')
      throw error
    }
  }

  function acquireSlot(userId: number): StreamSlot {
    const slot = streams.acquire(userId)
    if (slot === 'full') throw unavailable()
    if (slot !== 'too-many') return slot
    throw tooManyRequests('You have too many open streams. Close some of them first.', 30)
  }

  /** Looks up the caller and what they may see every time, after the moves were read: never with stale visibility. */
  function createSelector(token: string, filters: ActionFilters): SelectMoves {
    return async (moves) => {
      const matching = moves.filter((move) => matchesFilters(filters, move))
      if (matching.length === 0) return new Set()
      const caller = await findCaller(token)
      if (!caller) return undefined
      const { visible } = await visibilityOf(tree, caller)
      const environments = new Set(environmentsMatching(filters, visible))
      return new Set(matching.filter((move) => environments.has(move.environment_id)))
    }
  }
}
