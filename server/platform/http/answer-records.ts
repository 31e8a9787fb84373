import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Transaction } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { type ApiError, notFound } from './errors.ts'
import { readIfMatch, sendWithETag } from './if-match.ts'
import { describePage, type Extent, type Page, pageOf } from './pagination.ts'

// Things that people list, read, create, change and remove are answered in the same way, whatever they are. A route
// says who may call it, what goes in and out, and which function of its room does the work; the rest is here.

export type RecordKind<Row, Shown, Refused> = {
  db: Database
  baseUrl: () => string
  /** As the caller may see them, in their order; one that is gone meanwhile is left out. */
  present: (request: FastifyRequest, rows: readonly Row[]) => Shown[] | Promise<Shown[]>
  /** The answer to an outcome that the caller did not wish for. */
  refuse: (outcome: Refused) => ApiError
}

type Stored<Row> = Row & { row_version: string }
type Done<Row> = { kind: 'done'; row: Stored<Row> }
type Removed = { kind: 'removed' }
type ListRequest = FastifyRequest & { query: { page?: number; per_page?: number; 'filter[name]'?: string } }

export function answerRecords<Row, Shown, Refused extends { kind: string }>({
  db,
  baseUrl,
  present,
  refuse,
}: RecordKind<Row, Shown, Refused>) {
  /** With the version that it shows, as `ETag`. */
  async function show(request: FastifyRequest, reply: FastifyReply, row: Stored<Row>): Promise<Shown> {
    const [shown] = await present(request, [row])
    if (shown === undefined) throw notFound()
    sendWithETag(reply, row.row_version)
    return shown
  }

  /** In one transaction, with the version that the caller says they have seen. */
  async function change(
    request: FastifyRequest,
    reply: FastifyReply,
    perform: (trx: Transaction<Tables>, ifMatch: string | undefined) => Promise<Done<Row> | Refused>,
  ): Promise<Shown> {
    const outcome = await db.transaction().execute((trx) => perform(trx, readIfMatch(request)))
    if (!isDone(outcome)) throw refuse(outcome)
    return show(request, reply, outcome.row)
  }

  return {
    change,

    /** The page that the query asks for, of those whose name it asks for. */
    async list(
      request: ListRequest,
      reply: FastifyReply,
      find: (page: Page, name: string | undefined) => Promise<{ rows: Row[]; extent: Extent }>,
    ): Promise<Shown[]> {
      const page = pageOf(request.query)
      const { rows, extent } = await find(page, request.query['filter[name]'])
      describePage(request, reply, baseUrl(), page, extent)
      return present(request, rows)
    },

    async read(
      request: FastifyRequest,
      reply: FastifyReply,
      found: Promise<Stored<Row> | undefined>,
    ): Promise<Shown> {
      const row = await found
      if (!row) throw notFound()
      return show(request, reply, row)
    },

    create(
      request: FastifyRequest,
      reply: FastifyReply,
      perform: (trx: Transaction<Tables>) => Promise<Done<Row> | Refused>,
    ): Promise<Shown> {
      return change(request, reply.code(201), perform)
    },

    async remove(
      request: FastifyRequest,
      reply: FastifyReply,
      perform: (trx: Transaction<Tables>, ifMatch: string | undefined) => Promise<Removed | Refused>,
    ): Promise<null> {
      const outcome = await db.transaction().execute((trx) => perform(trx, readIfMatch(request)))
      if (!isRemoved(outcome)) throw refuse(outcome)
      reply.code(204)
      return null
    },
  }
}

function isDone<Row, Refused extends { kind: string }>(outcome: Done<Row> | Refused): outcome is Done<Row> {
  return outcome.kind === 'done'
}

function isRemoved<Refused extends { kind: string }>(outcome: Removed | Refused): outcome is Removed {
  return outcome.kind === 'removed'
}
