import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, showing } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { pageQueryUpTo, readRequestedPage } from '#platform/http/pagination.ts'
import * as t from '#platform/http/schemas.ts'
import { listNames } from './list-names.ts'
import { createNameIndex } from './name-index.ts'
import { IDS_PATTERN, MAX_IDS_LENGTH, nameQueryOf, TYPES_PATTERN, WITHIN_PATTERN } from './name-query.ts'
import { NAMED_TYPES, nameEntrySchema } from './schemas.ts'
import { VIEWED_WITH } from './visible-names.ts'

const operation = operationsOf('Names')

const nameQuery = {
  ...t.optionalFields({
    type: t.Text({
      pattern: TYPES_PATTERN,
      'x-hint': `must be any of: ${NAMED_TYPES.join(', ')}`,
      description: `Any of ${NAMED_TYPES.join(', ')}; comma-separated. Without it: all of them.`,
    }),
    q: t.Text({
      maxLength: 200,
      description:
        'Words, separated by spaces or `/`, that all occur in the path or in the names that it is made of. Case-insensitive; no character is a wildcard.',
    }),
    within: t.Text({
      pattern: WITHIN_PATTERN,
      'x-hint': 'must be a type and an id, such as application:12',
      description:
        'Only what belongs to this one, such as `application:12`: its pipelines and their hooks. Empty when you may not read it.',
    }),
    'filter[id]': t.Text({
      maxLength: MAX_IDS_LENGTH,
      pattern: IDS_PATTERN,
      'x-hint': 'must list up to 100 ids',
      description: 'Ids, comma-separated, at most 100; together with exactly one `type`.',
    }),
  }),
  ...pageQueryUpTo(1_000),
}

export type NameRoutes = { db: Database; tree: Tree; baseUrl: () => string }

export const nameRoutes: FastifyPluginAsyncTypebox<NameRoutes> = async (app, { db, tree, baseUrl }) => {
  const readIndex = createNameIndex({ db, tree })

  app.get(
    '/names',
    operation(showing(...new Set(Object.values(VIEWED_WITH))), 'listNames', {
      summary: 'Find resources by name',
      description:
        'Organizations, projects, environments, applications, servers, pipelines, hooks and credentials that you can view, in all of your organizations. With `q`, in this order: those whose path is `q`; whose name is the last word of `q`; whose name starts with it; all others. Then by path, type and id.',
      querystring: t.Exactly(nameQuery),
      response: { 200: t.List(t.ref(nameEntrySchema)), ...t.errorResponses(401, 422) },
    }),
    (request, reply) =>
      readRequestedPage(request, reply, baseUrl(), (page) =>
        listNames(readIndex, callerOf(request), nameQueryOf(request.query), page),
      ),
  )
}
