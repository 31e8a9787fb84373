import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sharedByAll } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import * as t from '#platform/http/schemas.ts'
import { RECEIVERS } from './receivers.ts'
import { receiverSchema, senderSchema } from './schemas.ts'
import { SENDERS } from './senders.ts'

const operation = operationsOf('Hooks')

const LISTS = [
  {
    name: 'senders',
    operationId: 'listSenders',
    summary: 'List the services that can call a hook',
    of: senderSchema,
    entries: SENDERS,
  },
  {
    name: 'receivers',
    operationId: 'listReceivers',
    summary: 'List the services that a hook can notify',
    of: receiverSchema,
    entries: RECEIVERS,
  },
] as const

/** The same for everybody, and the same until the next release. */
export const catalogRoutes: FastifyPluginAsyncTypebox = async (app) => {
  for (const { name, operationId, summary, of, entries } of LISTS) {
    app.get(
      `/catalog/${name}`,
      operation(sharedByAll, operationId, {
        summary,
        description:
          'Each with what to enter there, what to ask for, and the hook to create. The whole list, in the order of the guide.',
        response: {
          200: t.List(t.ref<typeof senderSchema | typeof receiverSchema>(of)),
          ...t.errorResponses(401),
        },
      }),
      async () => [...entries],
    )
  }
}
