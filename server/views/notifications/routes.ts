import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import type { Database } from '#platform/database/connect.ts'
import * as t from '#platform/http/schemas.ts'
import { readNotifications } from './read-notifications.ts'
import { actionNotificationSchema } from './schemas.ts'

const operation = operationsOf('Actions')

export const notificationRoutes: FastifyPluginAsyncTypebox<{ db: Database }> = async (app, { db }) => {
  app.get(
    '/actions/:id/notifications',
    operation(permissions('action', 'id', 'action:view', 'hook:view'), 'listNotifications', {
      summary: 'List who was notified about an action',
      description:
        'One entry per outgoing hook, by name: whether its receiver has the last status and, for presets that set a commit status, what the service showed when it was read back. Read back after 5 seconds, 1 minute and 10 minutes; a difference is sent again at most twice.',
      params: t.Exactly({ id: t.Id }),
      response: {
        200: t.List(t.ref(actionNotificationSchema)),
        ...t.errorResponses(401, 403, 404, 422),
      },
    }),
    (request) =>
      readNotifications(db, request.params.id, {
        withCaptured: seesHookSecrets(callerOf(request), scopeOf(request)),
      }),
  )
}
