import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { permissions } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { listEntries } from './list-entries.ts'
import { auditEntrySchema } from './schemas.ts'

export type AuditRoutes = { db: Database; baseUrl: () => string }

const word = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^[a-z_-]{1,60}$',
      'x-hint': 'must be a word of small letters, _ or -',
      description,
    }),
  )
const time = (description: string) =>
  Type.Optional(
    Type.String({
      format: 'date-time',
      pattern: '^(?!0000)[0-9]{4}-[0-9-]{5}T[0-9:.]+Z$',
      'x-hint': 'must be a UTC time such as 2026-11-15T08:00:00Z',
      description,
    }),
  )

export const auditRoutes: FastifyPluginAsyncTypebox<AuditRoutes> = async (app, { db, baseUrl }) => {
  app.get(
    '/organizations/:id/audit',
    {
      config: { access: permissions('organization', 'id', 'organization:edit') },
      schema: {
        tags: ['Organizations'],
        operationId: 'listAuditEntries',
        summary: 'Who changed what in an organization',
        description:
          'Newest first. Entries are written with the change and never altered; secrets are not in them.',
        params: Exactly({ id: Id }),
        querystring: Exactly({
          ...pageQuery,
          'filter[user_id]': Type.Optional(Id),
          'filter[subject_type]': word('The kind of thing, such as `project`.'),
          'filter[verb]': word('What was done, such as `removed`.'),
          'filter[created_after]': time('UTC time; this moment included.'),
          'filter[created_before]': time('UTC time; this moment excluded.'),
        }),
        response: { 200: Type.Array(ref(auditEntrySchema)), ...errorResponses(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { query } = request
      const filters = {
        userId: query['filter[user_id]'],
        subjectType: query['filter[subject_type]'],
        verb: query['filter[verb]'],
        createdAfter: query['filter[created_after]'],
        createdBefore: query['filter[created_before]'],
      }
      const page = pageOf(query)
      const { items, extent } = await listEntries(db, request.params.id, filters, page)
      describePage(request, reply, baseUrl(), page, extent)
      return items
    },
  )
}
