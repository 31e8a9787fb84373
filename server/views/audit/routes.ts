// The audit room: lists audit entries. They are recorded in access/audit.
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
      'x-hint': 'must consist of lowercase letters, _ or -',
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
        summary: 'List audit entries',
        description:
          'Who changed what in an organization, newest first. Entries are written with the change, never altered, and contain no secrets.',
        params: Exactly({ id: Id }),
        querystring: Exactly({
          ...pageQuery,
          'filter[user_id]': Type.Optional(Id),
          'filter[subject_type]': word('The type of resource, such as `project`.'),
          'filter[verb]': word('What was done, such as `removed`.'),
          'filter[created_after]': time('UTC time, inclusive.'),
          'filter[created_before]': time('UTC time, exclusive.'),
        }),
        response: { 200: Type.Array(ref(auditEntrySchema)), ...errorResponses(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const { items, extent } = await listEntries(db, request.params.id, request.query, page)
      describePage(request, reply, baseUrl(), page, extent)
      return items
    },
  )
}
