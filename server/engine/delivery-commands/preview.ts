import { type Static, Type } from 'typebox'
import { renderRequest } from '#adapters/templates/render.ts'
import { buildContext, type ContextDeps } from '#engine/outgoing/build-context.ts'
import { loadCaptured } from '#engine/outgoing/captured-values.ts'
import { chooseRequest } from '#engine/outgoing/choose-request.ts'
import {
  authorizeTokens,
  loadOutgoingHooks,
  opened,
  type TokenDeps,
} from '#engine/outgoing/outgoing-hooks.ts'
import { withPlaceholders } from '#engine/outgoing/prepare-request.ts'
import type { UnsavedRequest } from '#manage/hooks/unsaved-request.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { described, Exactly, idOf, named, TextOrNull, Timestamp, Word } from '#platform/http/schemas.ts'
import { findSubject } from './subject.ts'

export const previewSchema = named(
  'DeliveryPreview',
  Exactly({
    action_id: idOf('action that the delivery would report on'),
    event: Exactly(
      {
        kind: Type.String({ description: 'The kind of event, such as `action.status_changed`.' }),
        status: Type.String({ description: 'The status of the action after the event.' }),
        previous_status: TextOrNull({ description: 'The status before it; null for a new action.' }),
        occurred_at: described(Timestamp, 'When it happened.'),
      },
      { description: 'The event that the delivery would report.' },
    ),
    unmet_condition: TextOrNull({
      description:
        'The path of the condition that prevents this delivery, or those of a group; null when all match.',
    }),
    request: Word(['only', 'create', 'update'] as const, {
      description: 'Which of the requests of the hook it is: `only` without `settings.requests`.',
    }),
    method: Type.String({ description: 'The HTTP method.' }),
    url: Type.String({ description: 'The URL, with templates filled in.' }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'The headers by name, with templates filled in.',
    }),
    body: TextOrNull({ description: 'The body as text, with templates filled in; null without one.' }),
    access_token: Type.String({
      description: "Whether the credential's token is used, and whether it may be.",
    }),
    receiver: Exactly(
      {
        host: Type.String({ description: 'The host of the URL.' }),
        addresses: Type.Array(Type.String(), { description: 'The IP addresses that the host resolves to.' }),
        allowed: Type.Boolean({ description: 'Whether Gantry may connect to it.' }),
        message: Type.String({ description: 'Why, as a sentence.' }),
      },
      { description: 'Where the request would go.' },
    ),
  }),
)

export type Preview = Static<typeof previewSchema>

/** Every delivery has its own. */
const EXAMPLE_KEY = 'an-example-22-letters-'

export type PreviewDeps = ContextDeps & TokenDeps & { box: SecretBox; guard: AddressGuard }

/** What the hook would send about an action now, and to which address. Nothing is sent. */
export async function previewHook(
  deps: PreviewDeps,
  hookId: string,
  actionId: number | undefined,
  unsaved?: UnsavedRequest,
): Promise<{ kind: 'done'; preview: Preview } | HttpProblem> {
  const hook = opened((await loadOutgoingHooks(deps.db, deps.box, [hookId], unsaved)).get(hookId))
  if (!hook) return { kind: 'gone' }
  const subject = await findSubject(deps, hookId, actionId)
  if (!subject)
    return actionId === undefined
      ? conflict('No action matches this hook yet. Run the pipeline once.')
      : { kind: 'unknown', errors: { action_id: ['does not match this hook'] } }
  if (!hook.requests)
    return { kind: 'invalid', errors: { settings: ['has an invalid template; save the hook again'] } }
  const [captured] = await loadCaptured(deps.db, deps.box, [{ hook, actionId: subject.action.id }])
  const { kind: which, planned } = chooseRequest(hook.requests, hook, captured!)
  const { usesAccessToken } = planned.compiled
  const token = (await authorizeTokens(deps, [hook])).get(hook.id)!
  const values = { accessToken: null, captured: captured!.values, idempotencyKey: EXAMPLE_KEY }
  const context = await buildContext(deps, hook, subject, values)
  const rendered = renderRequest(planned.compiled, withPlaceholders(context, hook.capture))
  if (rendered.kind === 'failed') return { kind: 'invalid', errors: { [rendered.field]: [rendered.message] } }
  const { event, action } = context
  const { status, previous_status, occurred_at } = subject.event
  const tokenUse = token.kind === 'denied' ? token.message : 'used; masked in this preview'
  return {
    kind: 'done',
    preview: {
      action_id: subject.action.id,
      event: { kind: event.kind, status, previous_status, occurred_at },
      unmet_condition:
        unmetCondition([...hook.conditions, ...hook.prerequisites], { payload: { event, action } })?.label ??
        null,
      request: which,
      method: planned.method,
      url: rendered.url,
      headers: rendered.headers,
      body: rendered.body?.toString() ?? null,
      access_token: usesAccessToken ? tokenUse : 'not used',
      receiver: await describeReceiver(deps.guard, rendered.url),
    },
  }
}

async function describeReceiver(guard: AddressGuard, url: string): Promise<Preview['receiver']> {
  const { hostname: host } = new URL(url)
  const verdict = await guard.check(host)
  return verdict.kind === 'allowed'
    ? { host, addresses: verdict.addresses, allowed: true, message: 'The address is allowed.' }
    : { host, addresses: [], allowed: false, message: verdict.message }
}
