import { fullHash } from '#adapters/templates/filters.ts'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import type { Action } from '#model/actions/schemas.ts'
import { isEnd } from '#model/actions/status.ts'
import { presentCaptured } from '#model/hooks/captured.ts'
import type { PlannedRequest } from '#model/hooks/compile-requests.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import { MASK } from '#platform/masking/masked.ts'
import { buildContext, type ContextDeps, type Subject, TEST_KIND } from './build-context.ts'
import { type Captured, chooseRequest, idempotencyKey, type RequestKind } from './choose-request.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import type { Budget } from './rate-budgets.ts'
import type { SentRequest, ShownRequest } from './record-attempt.ts'

/** What a hook sends about an event, or why it sends nothing. */
export type PreparedRequest =
  /** `which`: of the hook's requests. `budget`: that of the token which the request contains; null: it contains none. */
  | ({ kind: 'ready'; which: RequestKind; budget: Budget | null } & Rendered)
  /** The hook's conditions are not met. A test is sent anyway. */
  | { kind: 'ignored' }
  /** What the request is about is not known yet. */
  | { kind: 'not-yet'; reason: string }
  | { kind: 'unsendable'; outcome: 'blocked' | 'unrenderable'; reason: string }

/** A request, and what its record shows of it. */
export type Rendered = { request: SentRequest; shown: ShownRequest }

export async function prepareRequest(
  deps: ContextDeps,
  hook: OutgoingHook,
  subject: Subject,
  token: TokenAuthorization,
  captured: Captured,
  /** Of the delivery, or of a test. */
  id: string,
): Promise<PreparedRequest> {
  if (token.kind === 'denied') return { kind: 'unsendable', outcome: 'blocked', reason: token.message }
  const unrenderable = (reason: string): PreparedRequest => ({
    kind: 'unsendable',
    outcome: 'unrenderable',
    reason,
  })
  if (hook.unfit !== null) return unrenderable(`The credential does not fit the preset: ${hook.unfit}.`)
  if (!hook.requests) return unrenderable('A template of this hook is invalid. Save the hook again.')
  const { kind: which, planned } = chooseRequest(hook.requests, hook, captured)
  const isTest = subject.event.kind === TEST_KIND
  const context = await buildContext(deps, hook, subject, {
    accessToken: token.token,
    captured: captured.values,
    // A receiver must not take what a test created for the real one.
    idempotencyKey: idempotencyKey(isTest ? id : hook.id, which, {
      actionId: subject.action.id,
      deliveryId: id,
      isRecreated: captured.isRecreated,
    }),
  })
  const { event, action } = context
  if (!isTest && unmetCondition(hook.conditions, { payload: { event, action } })) return { kind: 'ignored' }
  const isUnknown = hook.reportsCommits && !knowsCommit(action)
  if (isTest && isUnknown) return unrenderable(NO_COMMIT_YET)
  if (!isTest && (isUnknown || unmetCondition(hook.prerequisites, { payload: { event, action } })))
    return isEnd(subject.event.status) ? { kind: 'ignored' } : { kind: 'not-yet', reason: NO_COMMIT_YET }
  const rendered = renderRequest(planned.compiled, context)
  if (rendered.kind === 'failed') return unrenderable(`${rendered.field}: ${rendered.message}`)
  const { url, headers, body } = rendered
  const request = { url, method: planned.method, headers, body }
  const shown = showRequest(planned, hook, context, request)
  const { credential } = hook
  const isCounted = planned.compiled.usesAccessToken && credential !== null
  const budget = isCounted ? { credentialId: credential.id, origin: new URL(url).origin } : null
  return { kind: 'ready', which, request, shown, budget }
}

/** Whether there is a full commit hash to report on. The preset's own condition checks only its length. */
function knowsCommit({
  action_data,
  triggered_from,
}: Pick<Action, 'action_data' | 'triggered_from'>): boolean {
  const named = triggered_from.hook_parsed_variables.commit
  return fullHash(String(action_data.commit?.hash ?? named ?? '')) !== ''
}

const NO_COMMIT_YET = 'The commit of this run is not known yet.'

/**
 * What the record of a request shows. Masking by value does not find what a filter has made of a secret, so a request whose
 * templates read one is rendered once more, with placeholders in their place. If that fails, only the URL is shown, as it
 * is written in the hook. Pure.
 */
export function showRequest(
  { compiled, method, targetUrl, readsSecret }: PlannedRequest,
  { capture }: Pick<OutgoingHook, 'capture'>,
  context: TemplateContext,
  sent: SentRequest,
): ShownRequest {
  if (!readsSecret) return sent
  const rendered = renderRequest(compiled, withPlaceholders(context, capture))
  if (rendered.kind === 'failed') return { url: targetUrl, method, headers: null, body: null }
  const { url, headers, body } = rendered
  return { url, method, headers, body }
}

/** The same context, in which every secret that a template can read is a placeholder. Pure. */
export function withPlaceholders(
  context: TemplateContext,
  capture: OutgoingHook['capture'],
): TemplateContext {
  const { application, captured } = context
  return {
    ...context,
    credential: { access_token: MASK },
    application: application && {
      ...application,
      source_provider: { ...Object(Object(application).source_provider), access_token: MASK },
    },
    captured: presentCaptured((captured ?? {}) as Parameters<typeof presentCaptured>[0], capture),
  }
}
