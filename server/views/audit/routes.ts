// The audit room: lists and exports audit entries. They are recorded in access/audit.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, createCallerFinder } from '#access/authorization/caller.ts'
import { callerOf, instanceAdmin, permissions, tokenOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { can } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import { invalid } from '#platform/http/errors.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import * as t from '#platform/http/schemas.ts'
import { exportEntries, findRange } from './export-entries.ts'
import { type AuditSelection, filterQuery } from './filters.ts'
import { listEntries } from './list-entries.ts'
import { auditEntrySchema } from './schemas.ts'
import { createDownloads } from './send-lines.ts'

const ofAll = operationsOf('Operations')
const ofOne = operationsOf('Organizations')

export type AuditRoutes = { db: Database; baseUrl: () => string }

const LINES = 'application/x-ndjson'

const ENTRIES =
  'Entries are written with the change, never altered, and contain no secrets. Callers without `hook:edit` see the URLs of receivers masked, and not what is sent to them.'
const EXPORT = `One JSON object per line, oldest first, in the order in which the changes were committed, up to what is committed \
when the export begins. To continue later, send the id of the last entry as \`after\`: no entry is omitted or repeated. If the \
token or the permission is revoked during the export, the connection is closed before the end of the response. ${ENTRIES}`

const list = {
  querystring: t.Exactly({ ...pageQuery, ...filterQuery }),
  response: { 200: t.List(t.ref(auditEntrySchema)), ...t.errorResponses(401, 403, 422) },
}
const lines = {
  querystring: t.Exactly({
    after: t.Optional(
      t.described(t.Id, 'The id of an entry: the export begins with the one that was committed after it.'),
    ),
    ...filterQuery,
  }),
  response: {
    200: { description: 'One entry per line', content: { [LINES]: { schema: t.ref(auditEntrySchema) } } },
    ...t.errorResponses(401, 403, 422),
  },
}
const organizationEditor = permissions('organization', 'id', 'organization:edit')
const params = t.Exactly({ id: t.Id })

export const auditRoutes: FastifyPluginAsyncTypebox<AuditRoutes> = async (app, { db, baseUrl }) => {
  const findCaller = createCallerFinder(db)
  const downloads = createDownloads()
  app.addHook('preClose', async () => downloads.close())

  app.get(
    '/audit',
    ofAll(instanceAdmin, 'listAllAuditEntries', {
      summary: 'List the audit entries of accounts and of all organizations',
      description: `Sign-ins, tokens and other changes of accounts, and who changed what in any organization, newest first. ${ENTRIES}`,
      ...list,
    }),
    (request, reply) => showPage(request, reply, { organizationId: null, filters: request.query }),
  )

  app.get(
    '/audit/export',
    ofAll(instanceAdmin, 'exportAllAuditEntries', {
      summary: 'Export the audit entries of accounts and of all organizations',
      traits: { notJson: true },
      description: EXPORT,
      ...lines,
    }),
    (request, reply) =>
      sendExport(
        request,
        reply,
        { organizationId: null, filters: request.query },
        (caller) => caller.is_instance_admin,
      ),
  )

  app.get(
    '/organizations/:id/audit',
    ofOne(organizationEditor, 'listAuditEntries', {
      summary: 'List audit entries',
      description: `Who changed what in an organization, newest first. ${ENTRIES}`,
      params,
      ...list,
      response: { ...list.response, ...t.errorResponses(404) },
    }),
    (request, reply) =>
      showPage(request, reply, { organizationId: request.params.id, filters: request.query }),
  )

  app.get(
    '/organizations/:id/audit/export',
    ofOne(organizationEditor, 'exportAuditEntries', {
      summary: 'Export audit entries',
      traits: { notJson: true },
      description: EXPORT,
      params,
      ...lines,
      response: { ...lines.response, ...t.errorResponses(404) },
    }),
    (request, reply) => {
      const organization_id = request.params.id
      return sendExport(
        request,
        reply,
        { organizationId: organization_id, filters: request.query },
        (caller) => can(caller, 'organization:edit', { organization_id }),
      )
    },
  )

  async function showPage(
    request: FastifyRequest<{ Querystring: { page?: number; per_page?: number } }>,
    reply: FastifyReply,
    selection: AuditSelection,
  ) {
    const page = pageOf(request.query)
    const { items, extent } = await listEntries(db, callerOf(request), selection, page)
    describePage(request, reply, baseUrl(), page, extent)
    return items
  }

  async function sendExport(
    request: FastifyRequest<{ Querystring: { after?: number } }>,
    reply: FastifyReply,
    selection: AuditSelection,
    isAllowed: (caller: Caller) => boolean,
  ) {
    const range = await findRange(db, selection, request.query.after)
    if (!range) throw invalid({ after: ['must be the id of an entry'] })
    reply.type(LINES).header('x-accel-buffering', 'no')
    if (request.method === 'HEAD') return reply.send()
    const token = tokenOf(request)
    const findAgain = async () => {
      const caller = await findCaller(token, request.ip)
      return caller && isAllowed(caller) ? caller : undefined
    }
    const entries = exportEntries(db, selection, range, callerOf(request), findAgain)
    return reply.send(downloads.start(reply, entries))
  }
}
