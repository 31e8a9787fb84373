import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { presentCaptured } from '#model/hooks/captured.ts'
import type { PlannedRequest } from '#model/hooks/compile-requests.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import type { SentRequest, ShownRequest } from './record-attempt.ts'

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
