// The live room: what happens to actions, as it happens. Streams of server-sent events that go on after a cut, at
// whichever process, and that are read from the database at the pace of their receivers.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCallerFinder } from '#access/authorization/caller.ts'
import { callerOf, permissions, scopeOf, showing, tokenOf } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { type ActionFilters, readFilters } from '#model/actions/filters.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { ApiError, invalid, unavailable } from '#platform/http/errors.ts'
import { createSignal } from '#platform/queue/signal.ts'
import { isAskedFor, wantedEnvironments } from './choose-moves.ts'
import { actionStream, EVENT_STREAM, movesStream } from './descriptions.ts'
import { HEARTBEAT, writePosition, writeRetry } from './event-text.ts'
import { withHeartbeats } from './heartbeats.ts'
import { createLooks } from './look-at-run.ts'
import { createMovesTail } from './moves-tail.ts'
import { createNews } from './news.ts'
import { createOpenStreams, type StreamPlace } from './open-streams.ts'
import { beginning, type Progress, readProgress } from './progress.ts'
import { createLogPages } from './read-log-page.ts'
import { highestId } from './read-moves.ts'
import { LIVE_SETTINGS, type LiveSettings } from './settings.ts'
import { streamAction } from './stream-action.ts'
import { type ChooseMoves, streamMoves } from './stream-moves.ts'
import { lastSeen, readUnseen, type Unseen, writeUnseen } from './unseen.ts'

export type LiveRoutes = { db: Database; tree: Tree; listener: Listener; settings?: Partial<LiveSettings> }

export const liveRoutes: FastifyPluginAsyncTypebox<LiveRoutes> = async (
  app,
  { db, tree, listener, ...more },
) => {
  const settings = { ...LIVE_SETTINGS, ...more.settings }
  const onError = ({ message }: Error) =>
    app.log.warn({ part: 'live', reason: message }, 'a stream met an error')
  const findCaller = createCallerFinder(db)
  const news = await createNews(listener)
  const look = createLooks(db)
  const readLogPage = createLogPages(db)
  const movesTail = createMovesTail({ db, news, settings, onError })
  const streams = createOpenStreams(settings, onError)
  app.addHook('preClose', () => streams.close())

  app.get(
    '/actions/:id/stream',
    {
      config: { access: permissions('action', 'id', 'action:view'), offers: EVENT_STREAM },
      schema: actionStream,
    },
    async (request, reply) => {
      const progress = progressOf(request, request.params.id)
      if (progress.isOver) return reply.code(204).send(null)
      if (request.method === 'HEAD') return describeStream(reply).send()
      const stream = takePlace(callerOf(request).id)
      const watch = news.watchAction(progress.actionId)
      whenAborted(stream.signal, () => {
        watch.stop()
        watch.wake()
      })
      const [token, place] = [tokenOf(request), scopeOf(request)]
      const isAllowed = async () => {
        const caller = await findCaller(token)
        return caller !== undefined && can(caller, 'action:view', place)
      }
      const { signal } = stream
      const events = streamAction({ look, readLogPage, watch, signal, settings }, progress)
      return send(reply, stream, events, () => HEARTBEAT, isAllowed)
    },
  )

  app.get(
    '/actions/stream',
    { config: { access: showing('action:view'), offers: EVENT_STREAM }, schema: movesStream },
    async (request, reply) => {
      const read = readFilters(request.query)
      if (read.kind === 'wrong') throw invalid(read.errors)
      const goesOnAfter = await unseenOf(request)
      if (request.method === 'HEAD') return describeStream(reply).send()
      const stream = takePlace(callerOf(request).id)
      const bell = createSignal()
      const tail = await movesTail.join(bell.notify).catch((error) => {
        stream.free()
        throw error
      })
      whenAborted(stream.signal, () => {
        tail.leave()
        bell.notify()
      })
      const token = tokenOf(request)
      const start = goesOnAfter ?? tail.now().unseen
      const position = { unseen: start, reached: start }
      const choose = chooserFor(token, read.filters)
      const { signal } = stream
      const events = streamMoves({ db, tail, bell, choose, signal, settings }, position)
      const heartbeat = () => writePosition(writeUnseen(position.reached))
      return send(reply, stream, events, heartbeat, async () => (await findCaller(token)) !== undefined)
    },
  )

  function takePlace(userId: number): StreamPlace {
    const opening = streams.open(userId)
    switch (opening.kind) {
      case 'opened':
        return opening.place
      case 'full':
        throw unavailable()
      case 'too-many':
        throw new ApiError('too_many_requests', 'You have too many streams open; close some of them first.', {
          headers: { 'retry-after': '30' },
        })
    }
  }

  /** Asks anew each time who the caller is and what they see: after the moves were read, so that none is judged by less. */
  function chooserFor(token: string, filters: ActionFilters): ChooseMoves {
    return async (moves) => {
      const askedFor = moves.filter((move) => isAskedFor(filters, move))
      if (askedFor.length === 0) return new Set()
      const caller = await findCaller(token)
      if (!caller) return undefined
      const environments = wantedEnvironments(filters, (await visibilityOf(tree, caller)).visible)
      return new Set(askedFor.filter((move) => environments.has(move.environment_id)))
    }
  }

  async function unseenOf(request: FastifyRequest): Promise<Unseen | undefined> {
    const text = lastEventId(request)
    if (text === undefined) return undefined
    const unseen = readUnseen(text)
    // An id from before a database was restored would leave out all that happens until it is reached again.
    if (!unseen || lastSeen(unseen) > (await highestId(db))) throw unknownPosition()
    return unseen
  }

  function send(
    reply: FastifyReply,
    place: StreamPlace,
    events: AsyncGenerator<string>,
    heartbeat: () => string,
    isAllowed: () => Promise<boolean>,
  ): never {
    const { heartbeatMs, retryMs } = settings
    const opened = (async function* () {
      yield writeRetry(retryMs)
      try {
        yield* events
      } catch (error) {
        // The answer has begun: it can only be broken off, and nobody else would say why.
        reply.log.error({ err: error }, 'a stream failed unexpectedly')
        throw error
      }
    })()
    const body = place.fill(
      reply.raw,
      withHeartbeats(opened, { heartbeatMs, heartbeat, signal: place.signal }),
      isAllowed,
    )
    return describeStream(reply).send(body) as never
  }
}

function progressOf(request: FastifyRequest, actionId: number): Progress {
  const text = lastEventId(request)
  if (text === undefined) return beginning(actionId)
  const progress = readProgress(text)
  if (progress?.actionId !== actionId) throw unknownPosition()
  return progress
}

/** Without a value it is as if it were not there. */
function lastEventId({ headers }: FastifyRequest): string | undefined {
  const text = headers['last-event-id']
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** Not ignored: whoever believes to go on from somewhere would miss what lies between. */
function unknownPosition(): ApiError {
  return invalid({ 'last-event-id': ['must be the id of an event of this very stream'] })
}

/** Not to be kept by anyone, and not to be held back by nginx and its like. */
function describeStream(reply: FastifyReply): FastifyReply {
  return reply.type(EVENT_STREAM).headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
}

function whenAborted(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call()
  else signal.addEventListener('abort', call, { once: true })
}
