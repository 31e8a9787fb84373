// What became of a received call, and what can be done with it. Pure.
import type { HookRequestDetail, HookRequestRecord } from '#web/base/api/types.ts'
import { isSuccess, outcomeLabel, type Status } from '#web/base/ui/status.ts'

type Call = Pick<HookRequestRecord, 'outcome' | 'response_status_code'>

/** Nothing had to be done: neither good nor bad. */
const NEUTRAL = ['ignored', 'ping', 'checks', 'duplicate']

export function verdictStatus(outcome: string): Status {
  if (NEUTRAL.includes(outcome)) return 'skipped'
  return isSuccess(outcome) ? 'completed' : 'failed'
}

/** `Rejected: invalid payload` → the verdict and the rest. */
export function verdictLabel(call: Call): { verdict: string; reason: string | undefined } {
  const [verdict = '', reason] = outcomeLabel(call).split(': ')
  return { verdict, reason }
}

export const SIGNATURE_PROBLEMS: Record<NonNullable<HookRequestDetail['signature_problem']>, string> = {
  header_missing: 'The signature header is missing.',
  prefix: 'The signature names another algorithm.',
  encoding: 'The signature is neither hex nor base64 of the right length.',
  mismatch: 'The signature was made with another secret or for another body.',
  timestamp: 'The timestamp is missing or too old.',
}

/** Why a call cannot be evaluated again; undefined if it can. */
export function whyNotReplayable(call: HookRequestDetail): string | undefined {
  if (call.outcome === 'rejected_signature')
    return 'A call with a wrong signature cannot be replayed: its sender is unknown.'
  if (call.outcome === 'rate_limited') return 'A call beyond the rate limit is not stored.'
  return undefined
}

/** The JSON of a call: senders of forms put it into the field `payload`. */
export function payloadText(call: HookRequestDetail): string | null {
  const { request_body: body, request_body_encoding: encoding } = call
  if (body === null || body === '' || encoding === 'base64') return body
  const type = headerOf(call, 'content-type')
  if (!type?.startsWith('application/x-www-form-urlencoded') || /^\s*[[{]/.test(body)) return body
  return new URLSearchParams(body).get('payload') ?? body
}

function headerOf({ request_headers }: HookRequestDetail, wanted: string): string | undefined {
  const found = Object.entries(request_headers ?? {}).find(([name]) => name.toLowerCase() === wanted)
  return found && String(found[1])
}
