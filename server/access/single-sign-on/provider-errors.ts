import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client'
import { RefusedRequest } from './bounded-fetch.ts'

// Errors of the library carry tokens and whole responses in their causes and messages. What is logged and recorded
// about them comes from here: a word that contains nothing of that.

/** Checks of the library that an answer has failed; other errors mean that the provider is not working. */
const FAILED_CHECKS: Record<string, string> = {
  OAUTH_INVALID_RESPONSE: 'invalid_response',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'wrong_claim',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'wrong_subject',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'expired_token',
  OAUTH_KEY_SELECTION_FAILED: 'unknown_key',
  OAUTH_UNSUPPORTED_OPERATION: 'unsupported_algorithm',
}

/** Pure: the provider works, and what it answered is not acceptable. */
export function isRejection(error: unknown): boolean {
  if (error instanceof AuthorizationResponseError) return !OUTAGES.includes(error.error)
  // Other errors of the token endpoint, such as a wrong client secret, are not about this person.
  if (error instanceof ResponseBodyError) return error.error === 'invalid_grant'
  return error instanceof ClientError && error.code !== undefined && error.code in FAILED_CHECKS
}

const OUTAGES = ['server_error', 'temporarily_unavailable']

/** Pure: why, in one word. */
export function reasonOf(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
    return `provider_${wordOf(error.error)}`
  if (!(error instanceof ClientError)) return 'unreachable'
  if (error.cause instanceof RefusedRequest) return error.cause.message
  if (error.code === undefined) return 'unreachable'
  const check = FAILED_CHECKS[error.code]
  return check === 'wrong_claim' ? `wrong_${claimOf(error)}` : (check ?? wordOf(error.code.toLowerCase()))
}

/** `nonce`, `aud` or another claim of the ID token. */
function claimOf(error: ClientError): string {
  const { cause } = error.cause as { cause?: { claim?: unknown } }
  return wordOf(cause?.claim)
}

function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,60}$/.test(value) ? value : 'error'
}
