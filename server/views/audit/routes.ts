// The audit room: lists and exports audit entries. They are recorded in access/audit.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Caller, createCallerFinder } from '#access/authorization/caller.ts'
import { callerOf, instanceAdmin, permissions, tokenOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { can } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import { invalid } from '#platform/http/errors.ts'
import { pageQuery, readRequestedPage } from '#platform/http/pagination.ts'
import * as t from '#platform/http/schemas.ts'
import { exportEntries, findRange } from './export-entries.ts'
import { type AuditSelection, filterQuery } from './filters.ts'
import { listEntries } from './list-entries.ts'
import { auditEntrySchema } from './schemas.ts'
import { createDownloads } from './send-lines.ts'

const LINES = 'application/x-ndjson'

const ENTRIES =
  'Entries are written with the change, never altered, and contain no secrets. Callers without `hook:edit` see the URLs of receivers masked, and not what is sent to them.'
const EXPORT = `One JSON object per line, oldest first, in the order in which the changes were committed, up to what is committed \
when the export begins. To continue later, send the id of the last entry as \`after\`: no entry is omitted or repeated. If the \
token or the permission is revoked during the export, the connection is closed before the end of the response. ${ENTRIES}`

const afterQuery = t.optionalFields({
  after: t.described(t.Id, 'The id of an entry: the export begins with the one that was committed after it.'),
})

/** Whose entries a route lists or exports, and who may read them. */
const SCOPES = [
  {
    operation: operationsOf('Operations'),
    path: '/audit',
    access: instanceAdmin,
    ids: 'AllAuditEntries',
    entries: 'the audit entries of accounts and of all organizations',
    about: 'Sign-ins, tokens and other changes of accounts, and who changed what in any organization',
    named: {},
    errors: {},
    mayRead: (caller: Caller) => caller.is_instance_admin,
  },
  {
    operation: operationsOf('Organizations'),
    path: '/organizations/:id/audit',
    access: permissions('organization', 'id', 'organization:edit'),
    ids: 'AuditEntries',
    entries: 'audit entries',
    about: 'Who changed what in an organization',
    named: { params: t.Exactly({ id: t.Id }) },
    errors: t.errorResponses(404),
    mayRead: (caller: Caller, { organizationId }: AuditSelection) =>
      can(caller, 'organization:edit', { organization_id: organizationId! }),
  },
]

export const auditRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
  const findCaller = createCallerFinder(db)
  const downloads = createDownloads()
  app.addHook('preClose', async () => downloads.close())

  for (const { operation, path, access, ids, entries, about, named, errors, mayRead } of SCOPES) {
    app.get(
      path,
      operation(access, `list${ids}`, {
        summary: `List ${entries}`,
        description: `${about}, newest first. ${ENTRIES}`,
        ...named,
        querystring: t.Exactly({ ...pageQuery, ...filterQuery }),
        response: { 200: t.List(t.ref(auditEntrySchema)), ...errors },
      }),
      (request, reply) =>
        readRequestedPage(request, reply, baseUrl(), (page) =>
          listEntries(db, callerOf(request), selectionOf(request), page),
        ),
    )

    app.get(
      `${path}/export`,
      operation(access, `export${ids}`, {
        summary: `Export ${entries}`,
        traits: { notJson: true },
        description: EXPORT,
        ...named,
        querystring: t.Exactly({ ...afterQuery, ...filterQuery }),
        response: {
          200: {
            description: 'One entry per line',
            content: { [LINES]: { schema: t.ref(auditEntrySchema) } },
          },
          ...errors,
        },
      }),
      async (request, reply) => {
        const selection = selectionOf(request)
        const range = await findRange(db, selection, request.query.after)
        if (!range) throw invalid({ after: ['must be the id of an entry'] })
        reply.type(LINES).header('x-accel-buffering', 'no')
        const token = tokenOf(request)
        const findAgain = async () => {
          const caller = await findCaller(token, request.ip)
          return caller && mayRead(caller, selection) ? caller : undefined
        }
        const found = exportEntries(db, selection, range, callerOf(request), findAgain)
        return reply.send((request.method === 'HEAD' ? undefined : downloads.start(reply, found)) as never)
      },
    )
  }
}

function selectionOf({ params, query }: FastifyRequest): AuditSelection {
  const { id = null } = params as { id?: number }
  return { organizationId: id, filters: query as AuditSelection['filters'] }
}
