import type { CustomFetch } from 'openid-client'
import { isTrustworthy } from '#platform/oidc-settings.ts'

const MAX_BYTES = 512 * 1024
const NO_BODY = [101, 204, 205, 304]

/** The message is one word, for the log. */
export class RefusedRequest extends Error {}

/**
 * A request to the provider. Its answer is read whole within the time limit of the request, up to a size, so that a
 * provider that never ends one cannot fill the memory. Redirects are answers like any other: none is followed.
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  if (!isTrustworthy(new URL(url))) throw new RefusedRequest('insecure_endpoint')
  const response = await fetch(url, { ...options, redirect: 'manual' } as RequestInit)
  const body = NO_BODY.includes(response.status) ? null : await readBounded(response)
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}

async function readBounded(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // Leaving the loop cancels the rest.
    if (size > MAX_BYTES) throw new RefusedRequest('answer_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
