// The delivery-commands room: what users ask of an outgoing hook. They preview a request, send a test, and redeliver or replay
// what was sent before. The outgoing room does the work of a delivery: here it is only asked for.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { REQUEST_BODIES } from '#manage/hooks/routes.ts'
import { checkUnsavedRequest } from '#manage/hooks/unsaved-request.ts'
import { outgoingHookBody } from '#model/hooks/schemas.ts'
import { invalid } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { type Preview, type PreviewDeps, previewHook, previewSchema } from './preview.ts'
import { redeliver } from './redeliver.ts'

const operation = operationsOf('Hooks')
const access = permissions('outgoing hook', 'hook_id', 'hook:edit')
const params = t.Exactly({ hook_id: t.Uuid })
const problems = t.errorResponses(400, 401, 403, 404, 409, 422)

const redeliverySchema = t.namedObject('Redelivery', {
  deliveries: t.Integer('How many deliveries are sent again, or would be.'),
  dry_run: t.Flag('Whether they were only counted.'),
})

/** PostgreSQL has no year 0. */
const instant = (description: string) =>
  t.Text({
    format: 'date-time',
    pattern: '^(000[1-9]|00[1-9]|0[1-9]|[1-9])',
    'x-hint': 'must not be in the year 0',
    description,
  })

const redeliverBody = t.Exactly({
  from: instant('The beginning of the range, inclusive.'),
  ...t.optionalFields({
    to: instant('The end of the range, exclusive. Default: now.'),
    only_failed: t.Flag({ default: true, description: 'Skip events that were delivered.' }),
    dry_run: t.Flag({ default: false, description: 'Count without sending.' }),
  }),
})

const { target_url, settings } = outgoingHookBody.properties

const previewBody = t.Exactly(
  t.optionalFields({
    action_id: t.described(t.Id, 'The action to report; default: the newest one that matches the hook.'),
    target_url: t.Unsafe<string>({ ...target_url, description: 'Instead of the stored one.' }),
    settings: t.Unsafe<t.Static<typeof settings>>({
      ...settings,
      description: 'Instead of the stored ones, as a whole.',
    }),
  }),
)

export const deliveryCommandRoutes: FastifyPluginAsyncTypebox<PreviewDeps> = async (app, deps) => {
  app.post(
    '/hooks/outgoing/:hook_id/preview',
    operation(access, 'previewDelivery', {
      summary: 'Preview what an outgoing hook would send',
      traits: { bodyOptional: true, exactNumbersAt: REQUEST_BODIES },
      description:
        "Uses the given action, or the newest one that matches the hook. `target_url` and `settings` preview a change before it is saved; they are validated as if they were. Nothing is sent or saved; the credential's token is masked.",
      params,
      body: previewBody,
      response: { 200: t.ref(previewSchema), ...problems },
    }),
    async (request): Promise<Preview> => {
      const { action_id, ...change } = request.body
      const id = request.params.hook_id
      const isChanged = Object.keys(change).length > 0
      const unsaved = isChanged
        ? unwrap(await checkUnsavedRequest(deps, callerOf(request), id, change)).request
        : undefined
      return unwrap(await previewHook(deps, id, action_id, unsaved)).preview
    },
  )

  app.post(
    '/hooks/outgoing/:hook_id/redeliver',
    operation(access, 'redeliver', {
      summary: 'Redeliver the events of a time range',
      description:
        'Sends every event from `from` (inclusive) to `to` (exclusive; default: now) that was not delivered, including those missed while the hook was disabled. With `only_failed` false, delivered events are sent again as well. Count first with `dry_run`.',
      params,
      body: redeliverBody,
      response: { 200: t.ref(redeliverySchema), 202: t.ref(redeliverySchema), ...problems },
    }),
    async (request, reply): Promise<t.Static<typeof redeliverySchema>> => {
      const { from, to = new Date().toISOString(), only_failed = true, dry_run = false } = request.body
      if (Date.parse(from) >= Date.parse(to)) throw invalid({ to: ['must be later than from'] })
      const input = { from, to, onlyFailed: only_failed, dryRun: dry_run }
      const { deliveries } = unwrap(await redeliver(deps.db, request.params.hook_id, input))
      reply.code(dry_run ? 200 : 202)
      return { deliveries, dry_run }
    },
  )
}

export const deliveryCommandSchemas = [previewSchema, redeliverySchema]
