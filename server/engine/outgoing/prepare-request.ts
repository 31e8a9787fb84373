import { signDelivery } from '#adapters/http-client/sign.ts'
import { fullHash } from '#adapters/templates/filters.ts'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { isEnd } from '#model/actions/status.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import { buildContext, type ContextDeps, type Subject, TEST_KIND } from './build-context.ts'
import { type Captured, chooseRequest, idempotencyKey, type RequestKind } from './choose-request.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import type { SentRequest, ShownRequest } from './record-attempt.ts'
import { showRequest } from './shown-request.ts'

/** What a hook sends about an event, or why it sends nothing. */
type PreparedRequest =
  /** `which`: of the hook's requests. `credentialId`: whose token the request contains. */
  | ({ kind: 'ready'; which: RequestKind; credentialId: number | null } & Rendered)
  /** The hook's conditions are not met. A test is sent all the same. */
  | { kind: 'ignored' }
  /** What the request is about is not known yet. */
  | { kind: 'not-yet'; reason: string }
  | { kind: 'unsendable'; outcome: 'blocked' | 'unrenderable'; reason: string }

/** A request, and what its record shows of it. */
type Rendered = { request: SentRequest; shown: ShownRequest }

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
  const { isRecreated } = captured
  const context = {
    ...(await buildContext(deps, hook, subject, token.token)),
    captured: captured.values,
    request: {
      // A receiver must not take what a test created for the real one.
      idempotency_key: idempotencyKey(isTest ? id : hook.id, which, {
        actionId: subject.action.id,
        deliveryId: id,
        isRecreated,
      }),
    },
  }
  const { event, action } = context
  if (!isTest && unmetCondition(hook.conditions, { payload: { event, action } })) return { kind: 'ignored' }
  const isUnknown = hook.reportsCommits && !knowsCommit(action as ReportedAction)
  if (isTest && isUnknown) return unrenderable(NO_COMMIT_YET)
  if (!isTest && (isUnknown || unmetCondition(hook.prerequisites, { payload: { event, action } })))
    return isEnd(subject.event.status) ? { kind: 'ignored' } : { kind: 'not-yet', reason: NO_COMMIT_YET }
  const rendered = renderRequest(planned.compiled, context as TemplateContext)
  if (rendered.kind === 'failed') return unrenderable(`${rendered.field}: ${rendered.message}`)
  const { url, headers, body } = rendered
  const request = { url, method: planned.method, headers, body }
  const shown = showRequest(planned, hook, context as TemplateContext, request)
  const credentialId = planned.compiled.usesAccessToken ? (hook.credential?.id ?? null) : null
  return { kind: 'ready', which, request, shown, credentialId }
}

type ReportedAction = {
  action_data: { commit: { hash: string | null } | null }
  triggered_from: { hook_parsed_variables: Record<string, unknown> }
}

/** Whether the templates of presets have a commit to report on. The conditions of a preset see only how long its text is. */
function knowsCommit({ action_data, triggered_from }: ReportedAction): boolean {
  const named = triggered_from.hook_parsed_variables.commit
  return fullHash(String(action_data.commit?.hash ?? named ?? '')) !== ''
}

const NO_COMMIT_YET = 'The commit of this run is not known yet.'

/** The signature is that of what is sent, also where the record shows something else. */
export function signRequest(
  hook: OutgoingHook,
  id: string,
  { request, shown }: Rendered,
  now: Date,
): Rendered {
  const { headers, body } = request
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const contentType = body && !hasType && { 'content-type': 'application/json' }
  const signature = signatureOf(hook, id, body ?? '', now)
  const signed = { ...request, headers: { ...contentType, ...headers, ...signature } }
  if (shown === request) return { request: signed, shown: signed }
  const shownHeaders = shown.headers && { ...contentType, ...shown.headers, ...signature }
  return { request: signed, shown: { ...shown, headers: shownHeaders } }
}

/** The headers of a signature with the hook's secret and, during a rotation, with the previous one. */
export function signatureOf(
  { signingKey, previousKey }: Pick<OutgoingHook, 'signingKey' | 'previousKey'>,
  id: string,
  body: Buffer | string,
  now: Date,
) {
  return signDelivery({
    id,
    timestampSeconds: Math.floor(now.getTime() / 1_000),
    body,
    keys: previousKey && previousKey.until > now.getTime() ? [signingKey, previousKey.key] : [signingKey],
  })
}

/** The same for every attempt of a delivery: receivers use it to detect duplicates. */
export function messageId(deliveryId: string): string {
  return `msg_${deliveryId}`
}
