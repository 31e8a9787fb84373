import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { toApiError } from '#platform/http/problems.ts'
import {
  Exactly,
  errorResponses,
  Id,
  named,
  ref,
  TextOrNull,
  Timestamp,
  Uuid,
} from '#platform/http/schemas.ts'
import { type PreviewDeps, previewHook } from './preview.ts'
import { MOST_AT_ONCE, redeliver } from './redeliver.ts'

const tags = ['Hooks']
const params = Exactly({ hook_id: Uuid })

export const previewSchema = named(
  'DeliveryPreview',
  Exactly({
    action_id: Id,
    event: Exactly({
      kind: Type.String(),
      status: Type.String(),
      previous_status: TextOrNull(),
      occurred_at: Timestamp,
    }),
    unmet_condition: TextOrNull({ description: 'The condition because of which nothing would be sent.' }),
    method: Type.String(),
    url: Type.String(),
    headers: Type.Record(Type.String(), Type.String()),
    body: TextOrNull(),
    access_token: Type.String({ description: 'Whether the token of the credential is used, and may be.' }),
    receiver: Exactly({
      host: Type.String(),
      addresses: Type.Array(Type.String()),
      allowed: Type.Boolean(),
      message: Type.String(),
    }),
  }),
)

export const redeliverySchema = named(
  'Redelivery',
  Exactly({
    deliveries: Type.Integer({ description: 'How many are sent again, or would be.' }),
    dry_run: Type.Boolean(),
  }),
)

/** The database's calendar has no year 0. */
const Moment = Type.String({
  format: 'date-time',
  pattern: '^(?!0000)',
  'x-hint': 'must not be in the year 0',
})

const redeliverBody = Exactly(
  {
    from: Moment,
    to: Type.Optional(Moment),
    only_failed: Type.Optional(
      Type.Boolean({ default: true, description: 'Leave out what has arrived already.' }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Only count.' })),
  },
  { examples: [{ from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z', dry_run: true }] },
)

export const outgoingRoutes: FastifyPluginAsyncTypebox<PreviewDeps> = async (app, deps) => {
  app.post(
    '/hooks/outgoing/:hook_id/preview',
    {
      config: { access: permissions('outgoing hook', 'hook_id', 'hook:edit'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'previewDelivery',
        summary: 'Show what an outgoing hook would send',
        description:
          'About the given action, else the newest that it is about. Nothing is sent; the token of a credential is masked.',
        params,
        body: Exactly({ action_id: Type.Optional(Id) }),
        response: { 200: ref(previewSchema), ...errorResponses(400, 401, 403, 404, 409, 422) },
      },
    },
    async (request): Promise<Static<typeof previewSchema>> => {
      const actionId = request.body?.action_id
      const outcome = await previewHook(deps, request.params.hook_id, actionId)
      switch (outcome.kind) {
        case 'done':
          return outcome.preview
        case 'gone':
          throw notFound()
        case 'no-action':
          if (actionId !== undefined)
            throw toApiError({
              kind: 'unknown',
              errors: { action_id: ['is no action that this hook is about'] },
            })
          throw new ApiError(
            'conflict',
            'There is no action yet that this hook is about: run the pipeline once.',
          )
        case 'fault':
          throw invalid({ [outcome.field]: [outcome.message] })
      }
    },
  )

  app.post(
    '/hooks/outgoing/:hook_id/redeliver',
    {
      config: { access: permissions('outgoing hook', 'hook_id', 'hook:edit') },
      schema: {
        tags,
        operationId: 'redeliver',
        summary: 'Send deliveries of a span of time again',
        description:
          'Everything that happened from `from` until before `to` (absent: now) and did not arrive, also what was missed while the hook was switched off; with `only_failed` false what has arrived as well. Count first with `dry_run`.',
        params,
        body: redeliverBody,
        response: {
          200: ref(redeliverySchema),
          202: ref(redeliverySchema),
          ...errorResponses(400, 401, 403, 404, 409, 422),
        },
      },
    },
    async (request, reply): Promise<Static<typeof redeliverySchema>> => {
      const { from, to = new Date().toISOString(), only_failed = true, dry_run = false } = request.body
      if (Date.parse(from) >= Date.parse(to)) throw invalid({ to: ['must be later than from'] })
      const wish = { from, to, onlyFailed: only_failed, dryRun: dry_run }
      const outcome = await redeliver(deps.db, request.params.hook_id, wish)
      switch (outcome.kind) {
        case 'done':
          reply.code(dry_run ? 200 : 202)
          return { deliveries: outcome.deliveries, dry_run }
        case 'gone':
          throw notFound()
        case 'switched-off':
          throw new ApiError('conflict', 'This hook is switched off: change it to active first.')
        case 'too-many':
          throw invalid({
            from: [
              `leaves ${outcome.deliveries} deliveries; at most ${MOST_AT_ONCE} go at once: shorten the time`,
            ],
          })
      }
    },
  )
}

export const outgoingSchemas = [previewSchema, redeliverySchema]
