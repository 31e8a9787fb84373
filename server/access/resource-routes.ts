// The routes of one kind of resource: list, create, read, change, remove, and commands on a single one. A room
// declares who may call a route, what goes in and which of its functions does the work. What is the same for every
// resource is here: the OpenAPI operation, the transaction, ETag and If-Match, Link and X-Total-Count, status codes.
import type { FastifyContextConfig, FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import { actorOf } from '#access/audit/actor.ts'
import type { Requester } from '#access/audit/record.ts'
import { type Access, callerOf, permissions } from '#access/authorization/enforce.ts'
import type { Kind, Located } from '#access/authorization/locate.ts'
import type { Permission, Resource as PermissionResource } from '#access/authorization/permissions.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { notFound } from '#platform/http/errors.ts'
import { readIfMatch } from '#platform/http/if-match.ts'
import { describePage, type Extent, type Page, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { type HttpProblem, unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { withArticle } from '#platform/http/validation.ts'

export type ResourceDeps = { db: Database; baseUrl: () => string }

type Resource<Row, Shown extends t.TSchema, Result> = {
  tag: string
  /** Singular, in words: `incoming hook`. Operation ids and summaries are built from it. */
  name: string
  /** What permissions on it are called, unless by its name. */
  permission?: PermissionResource
  /** It belongs to what has that permission: to add or remove one is to edit that. */
  isPart?: true
  record: Shown & { $id: string }
  /**
   * In the order of the rows, as far as the caller may see; a row that is gone by now is left out. `result` is what
   * the change returned, for what is shown only once.
   */
  present: (
    call: Context,
    rows: readonly Row[],
    result?: Result,
  ) => t.Static<Shown>[] | Promise<t.Static<Shown>[]>
}

/** `scope` is there on routes whose path names an object. */
export type Context = Requester & { scope: Located }

/** What the functions of rooms take of it is in `Creation`, `Change` and `Removal`. */
type Call<Path extends string, Schema extends t.TSchema = t.TSchema> = Context & {
  /** What the path names: first, and last. Ids are numbers, except those of hooks. */
  parentId: number
  id: Path extends `${string}:hook_id${string}` ? string : number
  body: t.Static<Schema>
  /** The version that the caller last saw, if they sent it. */
  ifMatch: string | undefined
  cascade: boolean
  stopHooks: boolean
}

type Stored<Row> = Row & { row_version: string }

type Operation = {
  /** By default its own permission on what the path names first. */
  access?: Access
  operationId?: string
  summary?: string
  description?: string
  /** Error statuses in addition to those that every route of its kind has. */
  errors?: readonly number[]
}
type List<Path extends string, Row, Filters extends t.TProperties> = Operation & {
  /** For resources without secrets; see platform/http/compression.ts. */
  compress?: true
  /** Instead of `filter[name]`. */
  filters?: Filters
  /** It may find another page than the one asked for, such as everything. */
  find: (
    call: Call<Path> & { query: t.Static<t.TObject<Filters>> },
    name: string | undefined,
    page: Page,
  ) => Promise<{ rows: Row[]; extent: Extent; page?: Page }>
}
type Read<Path extends string, Row> = Operation & {
  find: (call: Call<Path>) => Promise<Stored<Row> | undefined>
}
type Save<Path extends string, Schema extends t.TSchema, Row, Result, Prepared> = Operation & {
  body?: Schema
  query?: t.TSchema
  exactNumbersAt?: FastifyContextConfig['exactNumbersAt']
  /** What takes too long for a transaction. */
  prepare?: (call: Call<Path, Schema>) => Promise<Prepared>
  run: (
    trx: Transaction,
    call: Call<Path, Schema>,
    prepared: Prepared,
  ) => Promise<({ kind: 'done'; row: Stored<Row> } & Result) | HttpProblem>
  /** Adds response headers once the change is committed. */
  respond?: (reply: FastifyReply, call: Call<Path, Schema>, result: Result) => Promise<void>
}
type Remove<Path extends string> = Operation & {
  /** With `cascade`: without it, it may be in use. */
  query?: t.TSchema
  run: (trx: Transaction, call: Call<Path>) => Promise<{ kind: 'removed' } | HttpProblem>
}

type Check<Path extends string, Schema extends t.TSchema, Report extends t.TSchema> = Operation & {
  body: Schema
  report: Report & { $id: string }
  run: (
    call: Call<Path, Schema>,
  ) => Promise<{ kind: 'checked' | 'tried'; check: t.Static<Report> } | HttpProblem>
}

const VERBS = { GET: 'view', POST: 'add', PUT: 'edit', DELETE: 'remove' } as const
type Method = keyof typeof VERBS

/** A query parameter of lists. */
export function searchText(what: string) {
  return t.Optional(
    t.Text({
      minLength: 1,
      maxLength: 255,
      // The one character that PostgreSQL's text cannot contain.
      pattern: '^[^\\x00]*$',
      'x-hint': 'must be text',
      description: `${what}; case-insensitive.`,
    }),
  )
}

const nameFilter = { 'filter[name]': searchText('Part of the name') }

const KEEPS =
  'Fields that you omit keep their value. Send `If-Match` with the `ETag` of your last read to avoid overwriting a concurrent change.'

export function resourceRoutes<Row, Shown extends t.TSchema, Result extends object = object>(
  app: { route: (route: RouteOptions) => unknown },
  { db, baseUrl }: ResourceDeps,
  resource: Resource<Row, Shown, Result>,
) {
  const { tag, name, isPart, record, present } = resource
  const { permission = name as PermissionResource } = resource
  const idOf = (verb: string) => verb + name.replace(/(?:^| )(\w)/g, (_, letter) => letter.toUpperCase())
  const one = withArticle(name)
  const shown = t.ref(record)
  const shownWithVersion = t.withHeaders(shown, { ETag: {} })

  /** `DELETE /servers/:id`: `server:remove` on the server. */
  function accessTo(method: Method, path: string): Access {
    const need: Permission = `${permission}:${isPart && method !== 'GET' ? 'edit' : VERBS[method]}`
    return permissions(path.split('/')[1]!.replace(/s$/, '') as Kind, 'id', need)
  }

  function register(
    method: Method,
    url: string,
    operation: Operation,
    schema: FastifySchema & { operationId: string; summary: string; response: object },
    handler: (call: Incoming, reply: FastifyReply, request: FastifyRequest) => unknown,
    config: Pick<FastifyContextConfig, 'bodyOptional' | 'exactNumbersAt' | 'compress'> = {},
  ) {
    const { errors = [], description, operationId, summary } = { ...schema, ...operation }
    const { access = accessTo(method, url) } = operation
    const statuses = [401, 403, 422, ...errors]
    if (access.kind === 'permissions') statuses.push(404)
    if (schema.body) statuses.push(400)
    if (method === 'PUT' || method === 'DELETE') statuses.push(412)
    app.route({
      method,
      url,
      config: { access, ...config },
      schema: withoutUndefined({
        tags: [tag],
        ...schema,
        operationId,
        summary,
        description,
        params: paramsOf(url),
        response: { ...schema.response, ...t.errorResponses(...statuses) },
      }),
      handler: (request, reply) => handler(callOf(request), reply, request),
    })
  }

  /** With its version as `ETag`. */
  async function show(call: Context, reply: FastifyReply, row: Stored<Row>, result?: Result) {
    const [found] = await present(call, [row], result)
    if (found === undefined) throw notFound()
    reply.header('etag', `"${row.row_version}"`)
    return found
  }

  function save<Path extends string, Schema extends t.TSchema, Prepared>(
    method: 'POST' | 'PUT',
    path: Path,
    operation: Save<Path, Schema, Row, Result, Prepared>,
    status: 200 | 201 | 202,
    schema: { operationId: string; summary: string },
    config = {},
  ) {
    const { body, query, prepare, run, respond, exactNumbersAt } = operation
    const described = { ...schema, body, querystring: query, response: { [status]: shownWithVersion } }
    const handler = async (call: Incoming, reply: FastifyReply) => {
      const prepared = (await prepare?.(call)) as Prepared
      const result = unwrap(await db.transaction().execute((trx) => run(trx, call, prepared)))
      await respond?.(reply, call, result)
      return show(call, reply.code(status), result.row, result)
    }
    register(method, path, operation, described, handler, { ...config, exactNumbersAt })
  }

  return {
    /** One page, filtered by name unless it has other filters. */
    list<Path extends string, Filters extends t.TProperties>(
      path: Path,
      operation: List<Path, Row, Filters>,
    ) {
      const { access = accessTo('GET', path), filters = nameFilter, find, compress } = operation
      const parent = access.kind === 'permissions' ? withArticle(access.of) : undefined
      const schema = {
        operationId: `${idOf('list')}s`,
        summary: parent ? `List the ${name}s of ${parent}` : `List ${name}s`,
        querystring: t.Exactly({ ...pageQuery, ...filters }),
        response: { 200: t.List(shown) },
      }
      const handler = async (call: Incoming, reply: FastifyReply, request: FastifyRequest) => {
        const asked = pageOf(call.query)
        const { rows, extent, page = asked } = await find(call as never, call.query['filter[name]'], asked)
        describePage(request, reply, baseUrl(), page, extent)
        return present(call, rows)
      }
      register('GET', path, operation, schema, handler, { compress })
    },

    create<Path extends string, Schema extends t.TSchema, Prepared = undefined>(
      path: Path,
      operation: Save<Path, Schema, Row, Result, Prepared>,
    ) {
      save('POST', path, operation, 201, { operationId: idOf('create'), summary: `Create ${one}` })
    },

    read<Path extends string>(path: Path, operation: Read<Path, Row>) {
      const schema = {
        operationId: idOf('read'),
        summary: `Read ${one}`,
        response: { 200: shownWithVersion },
      }
      register('GET', path, operation, schema, async (call, reply) => {
        const row = await operation.find(call)
        if (!row) throw notFound()
        return show(call, reply, row)
      })
    },

    change<Path extends string, Schema extends t.TSchema, Prepared = undefined>(
      path: Path,
      operation: Save<Path, Schema, Row, Result, Prepared>,
    ) {
      const description = [KEEPS, operation.description].filter(Boolean).join(' ')
      const schema = { operationId: idOf('change'), summary: `Change ${one}` }
      save('PUT', path, { ...operation, description }, 200, schema)
    },

    remove<Path extends string>(path: Path, operation: Remove<Path>) {
      const { query, run, errors = query ? [409] : [] } = operation
      const schema = {
        operationId: idOf('remove'),
        summary: `Remove ${one}`,
        querystring: query,
        response: { 204: t.Null() },
      }
      register('DELETE', path, { ...operation, errors }, schema, async (call, reply) => {
        unwrap(await db.transaction().execute((trx) => run(trx, call)))
        return reply.code(204).send(null)
      })
    },

    /** A POST that does something with one of them and responds with it. */
    command<Path extends string, Schema extends t.TSchema>(
      path: Path,
      operation: Save<Path, Schema, Row, Result, undefined> & {
        access: Access
        operationId: string
        summary: string
      },
      status: 200 | 201 | 202 = 200,
    ) {
      const { operationId, summary } = operation
      save('POST', path, operation, status, { operationId, summary }, { bodyOptional: true })
    },

    /** A POST that tries one of them out and responds with a report. May take seconds, so not in a transaction. */
    check<Path extends string, Schema extends t.TSchema, Report extends t.TSchema>(
      path: Path,
      operation: Check<Path, Schema, Report> & { access: Access },
    ) {
      const { body, report, run } = operation
      const described = { operationId: idOf('check'), summary: `Check ${one}` }
      const schema = { ...described, body, response: { 200: t.ref(report) } }
      const handler = async (call: Incoming) => unwrap(await run(call)).check
      register('POST', path, operation, schema, handler, { bodyOptional: true })
    },
  }
}

/** As the declared schemas have validated it: `never` fits the types that each route derives from them. */
type Incoming = Omit<Call<string>, 'id' | 'body'> & {
  id: never
  body: never
  query: { page?: number; per_page?: number; 'filter[name]'?: string }
}

function callOf(request: FastifyRequest): Incoming {
  const query = request.query as Incoming['query'] & { cascade?: boolean; stop_hooks?: boolean }
  const ids = Object.values(request.params as object)
  return {
    caller: callerOf(request),
    actor: actorOf(request),
    scope: request.scope!,
    parentId: ids[0],
    id: ids.at(-1) as never,
    body: request.body as never,
    query,
    ifMatch: readIfMatch(request),
    cascade: query.cascade ?? false,
    stopHooks: query.stop_hooks ?? false,
  }
}

function paramsOf(path: string): t.TSchema | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  if (names.length === 0) return undefined
  return t.Exactly(Object.fromEntries(names.map((name) => [name, name === 'hook_id' ? t.Uuid : t.Id])))
}

/** Fastify warns of parts of a schema that are named but undefined. */
function withoutUndefined(schema: FastifySchema): FastifySchema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined))
}
