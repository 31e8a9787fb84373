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
import * as t from '#platform/http/schemas.ts'
import { findSubject } from './subject.ts'

export const previewSchema = t.namedObject('DeliveryPreview', {
  action_id: t.idOf('action that the delivery would report on'),
  event: t.Exactly(
    {
      kind: t.Text('The kind of event, such as `action.status_changed`.'),
      status: t.Text('The status of the action after the event.'),
      previous_status: t.TextOrNull('The status before it; null for a new action.'),
      occurred_at: t.Time('When it happened.'),
    },
    { description: 'The event that the delivery would report.' },
  ),
  unmet_condition: t.TextOrNull(
    'The path of the condition that prevents this delivery, or those of a group; null when all match.',
  ),
  request: t.Word(
    ['only', 'create', 'update'],
    'Which of the requests of the hook it is: `only` without `settings.requests`.',
  ),
  method: t.Text('The HTTP method.'),
  url: t.Text('The URL, with templates filled in.'),
  headers: t.Record(t.Text(), t.Text(), { description: 'The headers by name, with templates filled in.' }),
  body: t.TextOrNull('The body as text, with templates filled in; null without one.'),
  access_token: t.Text("Whether the credential's token is used, and whether it may be."),
  receiver: t.Exactly(
    {
      host: t.Text('The host of the URL.'),
      addresses: t.List(t.Text(), 'The IP addresses that the host resolves to.'),
      allowed: t.Flag('Whether Gantry may connect to it.'),
      message: t.Text('Why, as a sentence.'),
    },
    { description: 'Where the request would go.' },
  ),
})

export type Preview = t.Static<typeof previewSchema>

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
