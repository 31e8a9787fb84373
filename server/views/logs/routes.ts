// The logs room: reads step logs. They are written in engine/step-logs.
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { notFound } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { type FoundLog, findLog, type Gap, readPages } from './read-log.ts'
import { stepLogSchema } from './schemas.ts'

const operation = operationsOf('Actions')

export type StepLogRoutes = { db: Database; tree: Tree }

export const stepLogRoutes: FastifyPluginAsyncTypebox<StepLogRoutes> = async (app, { db, tree }) => {
  app.get(
    '/actions/:action_id/targets/:target_id/steps/:order/logs',
    operation(permissions('action', 'action_id', 'action:view'), 'readStepLog', {
      summary: 'Read the log of a step',
      description:
        'The header `X-Gantry-Log-Offset` is the end of the returned text: pass it as `after` to continue. Once the step has `completed_at`, the log is complete. The first and the last 5 MiB of a log are stored; `gaps` says what is omitted between them.',
      params: t.Exactly({
        action_id: t.Id,
        target_id: t.Id,
        order: t.described(t.Id, 'The position of the step, from 1.'),
      }),
      querystring: t.Exactly({
        after: t.Optional(
          t.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            default: 0,
            description: 'Skip this many bytes of UTF-8.',
          }),
        ),
      }),
      response: {
        200: t.withHeaders(t.ref(stepLogSchema), {
          'X-Gantry-Log-Offset': {
            type: 'integer',
            description: 'Where the returned text ends, in bytes of UTF-8. Pass it as `after` to continue.',
          },
        }),
        ...t.errorResponses(401, 404, 422),
      },
    }),
    async (request, reply) => {
      const { action_id, target_id, order } = request.params
      const step = { actionId: action_id, targetId: target_id, order }
      const found = await findLog(db, tree.at(callerOf(request).tree_version), step)
      if (!found) throw notFound()
      const gaps: Gap[] = []
      const pages = readPages(db, step, request.query.after ?? 0, found.endOffset, gaps)
      // Read before the response begins, so that an unreachable database still results in 503.
      const firstPage = await pages.next()
      reply.header('x-gantry-log-offset', String(found.endOffset))
      return sendStream(reply, writeJson(found, firstPage, pages, gaps))
    },
  )
}

/** JSON that is written while it is sent; it still has the shape of the route's schema. */
function sendStream(reply: FastifyReply, pieces: AsyncGenerator<string>): never {
  reply.type('application/json; charset=utf-8')
  return reply.send(Readable.from(pieces, { highWaterMark: 1 })) as never
}

/** In pieces: serializing ten megabytes at once would block the event loop. */
async function* writeJson(
  { step, target, updatedAt }: FoundLog,
  firstPage: IteratorResult<string, void>,
  pages: AsyncGenerator<string>,
  gaps: readonly Gap[],
): AsyncGenerator<string> {
  const { order, started_at, completed_at } = step
  const before = JSON.stringify({ order, started_at, completed_at })
  yield `{"step":${before.slice(0, -1)},"output":"`
  if (!firstPage.done) yield inJson(firstPage.value)
  for await (const page of pages) yield inJson(page)
  // Known only now: gaps are found while the pages are read.
  yield `","gaps":${JSON.stringify(gaps)}},"target":${JSON.stringify(target)},"updated_at":${JSON.stringify(updatedAt)}}`
}

/** Pages end at character boundaries, so each can be serialized separately. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
