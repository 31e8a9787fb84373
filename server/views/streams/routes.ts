// The streams room: status changes and log output of actions as server-sent events. A client can resume at any
// process after a disconnect; events are read from the database at the speed of the client.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCallerFinder } from '#access/authorization/caller.ts'
import { ACCESS_CHANNEL } from '#access/authorization/channel.ts'
import {
  callerOf,
  permissions,
  scopeOf,
  showing,
  tokenOf,
  withTokens,
} from '#access/authorization/enforce.ts'
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
import { ApiError, unavailable } from '#platform/http/errors.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { type ActionCursor, decodeCursor, startCursor } from './action-cursor.ts'
import { createAttemptNotifications } from './attempt-notifications.ts'
import { type DeliveryCursor, decodeCursor as decodeDeliveryCursor, encodeCursor } from './delivery-cursor.ts'
import { decodeUnseen, encodeUnseen, lastSeen, type Unseen } from './feed-cursor.ts'
import { createFeedTail } from './feed-tail.ts'
import { createOpenStreams, type StreamSlot } from './open-streams.ts'
import { highestId } from './read-feed.ts'
import { createLogReader, createSnapshotLoader } from './run-snapshot.ts'
import { actionStream, deliveryStream, EVENT_STREAM, feedStream } from './schemas.ts'
import { STREAM_SETTINGS, type StreamSettings } from './settings.ts'
import { formatId, formatRetry, HEARTBEAT, withHeartbeats } from './sse.ts'
import { streamAction } from './stream-action.ts'
import { currentPosition, streamDeliveries } from './stream-deliveries.ts'
import { matchesFilters, type SelectMoves, streamFeed } from './stream-feed.ts'
import { invalidLastEventId, lastEventId, onAbort, setStreamHeaders } from './stream-reply.ts'

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
    {
      config: { access: permissions('action', 'id', 'action:view'), offers: EVENT_STREAM },
      schema: actionStream,
    },
    async (request, reply) => {
      const cursor = cursorOf(request, request.params.id)
      if (cursor.isEnded) return reply.code(204).send(null)
      if (request.method === 'HEAD') return setStreamHeaders(reply).send()
      const slot = acquireSlot(callerOf(request).id)
      const watch = notifications.watchAction(cursor.actionId)
      onAbort(slot.signal, () => {
        watch.stop()
        watch.wake()
      })
      const [token, scope] = [tokenOf(request), scopeOf(request)]
      const isAllowed = async () => {
        const caller = await findCaller(token)
        return caller !== undefined && can(caller, 'action:view', scope)
      }
      const { signal } = slot
      const events = streamAction({ loadSnapshot, readLogPage, watch, signal, settings }, cursor)
      return send(reply, slot, events, () => HEARTBEAT, isAllowed)
    },
  )

  app.get(
    '/actions/stream',
    { config: { access: showing('action:view'), offers: EVENT_STREAM }, schema: feedStream },
    async (request, reply) => {
      const filters = filtersOf(request.query)
      const resumeFrom = await unseenOf(request)
      if (request.method === 'HEAD') return setStreamHeaders(reply).send()
      const slot = acquireSlot(callerOf(request).id)
      const wakeUp = createSignal()
      const tail = await feedTail.join(wakeUp.notify).catch(giveUp(slot))
      onAbort(slot.signal, () => {
        tail.leave()
        wakeUp.notify()
      })
      const token = tokenOf(request)
      const start = resumeFrom ?? tail.position().unseen
      const position = { unseen: start, reached: start }
      const select = createSelector(token, filters)
      const { signal } = slot
      const events = streamFeed({ db, tail, wakeUp, select, signal, settings }, position)
      const heartbeat = () => formatId(encodeUnseen(position.reached))
      return send(reply, slot, events, heartbeat, async () => (await findCaller(token)) !== undefined)
    },
  )

  app.get(
    '/hooks/outgoing/:hook_id/stream',
    {
      config: {
        access: withTokens('hooks', permissions('outgoing hook', 'hook_id', 'hook:edit')),
        offers: EVENT_STREAM,
      },
      schema: deliveryStream,
    },
    async (request, reply) => {
      const { hook_id: hookId } = request.params
      const resumeFrom = deliveryCursorOf(request)
      if (request.method === 'HEAD') return setStreamHeaders(reply).send()
      const slot = acquireSlot(callerOf(request).id)
      const wakeUp = createSignal()
      const unsubscribe = attempts.watchHook(hookId, wakeUp.notify)
      onAbort(slot.signal, () => {
        unsubscribe()
        wakeUp.notify()
      })
      const cursor = resumeFrom ?? (await currentPosition(db, hookId).catch(giveUp(slot)))
      const position = { cursor }
      const [token, scope] = [tokenOf(request), scopeOf(request)]
      const isAllowed = async () => {
        const caller = await findCaller(token)
        return caller !== undefined && seesHookSecrets(caller, scope)
      }
      const events = streamDeliveries({ db, box, wakeUp, signal: slot.signal, settings }, hookId, position)
      return send(reply, slot, events, () => formatId(encodeCursor(position.cursor)), isAllowed)
    },
  )

  /** For what fails before the stream has begun. */
  function giveUp(slot: StreamSlot) {
    return (error: unknown): never => {
      slot.release()
      throw error
    }
  }

  function acquireSlot(userId: number): StreamSlot {
    const slot = streams.acquire(userId)
    if (slot === 'full') throw unavailable()
    if (slot !== 'too-many') return slot
    throw new ApiError('too_many_requests', 'You have too many open streams. Close some of them first.', {
      headers: { 'retry-after': '30' },
    })
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

  async function unseenOf(request: FastifyRequest): Promise<Unseen | undefined> {
    const text = lastEventId(request)
    if (text === undefined) return undefined
    const unseen = decodeUnseen(text)
    // An id from before a database was restored would skip everything until it is reached again.
    if (!unseen || lastSeen(unseen) > (await highestId(db))) throw invalidLastEventId()
    return unseen
  }

  function send(
    reply: FastifyReply,
    slot: StreamSlot,
    events: AsyncGenerator<string>,
    heartbeat: () => string,
    isAllowed: () => Promise<boolean>,
  ): never {
    const { heartbeatMs, retryMs } = settings
    const source = (async function* () {
      yield formatRetry(retryMs)
      try {
        yield* events
      } catch (error) {
        // The response has begun: it can only be cut off, and nothing else would say why.
        reply.log.error({ err: error }, 'stream failed unexpectedly')
        throw error
      }
    })()
    const body = withHeartbeats(source, { heartbeatMs, heartbeat, signal: slot.signal })
    const content = slot.fill(reply.raw, body, isAllowed)
    // Access may have ended since the caller was authenticated, when nobody rechecked this stream yet.
    void slot.recheck(onError)
    return setStreamHeaders(reply).send(content) as never
  }
}

function cursorOf(request: FastifyRequest, actionId: number): ActionCursor {
  const text = lastEventId(request)
  if (text === undefined) return startCursor(actionId)
  const cursor = decodeCursor(text)
  if (cursor?.actionId !== actionId) throw invalidLastEventId()
  return cursor
}

function deliveryCursorOf(request: FastifyRequest): DeliveryCursor | undefined {
  const text = lastEventId(request)
  if (text === undefined) return undefined
  const cursor = decodeDeliveryCursor(text)
  if (!cursor) throw invalidLastEventId()
  return cursor
}
