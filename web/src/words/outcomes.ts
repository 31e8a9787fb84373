// What became of calls and deliveries, as people say it.

export const OUTCOME_WORDS: Record<string, string> = {
  accepted: 'Accepted: it started an action',
  duplicate: 'Seen before: nothing was started again',
  ping: 'Ping: answered, nothing started',
  ignored: 'Ignored: the conditions of the hook did not hold',
  rejected_signature: 'Refused: the signature was missing or wrong',
  rejected_payload: 'Refused: the payload could not be read',
  rejected_variables: 'Refused: variables were missing or wrong',
  rejected_state: 'Refused: the pipeline could not run',
  rate_limited: 'Refused: too many calls',
  delivered: 'Delivered',
  refused: 'The receiver refused it',
  redirected: 'The receiver sent it elsewhere; redirects are not followed',
  timed_out: 'The receiver took too long',
  unreachable: 'The receiver could not be reached',
  blocked: 'The address may not be called',
  unrenderable: 'The template could not be filled in',
  superseded: 'Dropped: a newer status was due',
}

export function isGoodOutcome(outcome: string): boolean {
  return ['accepted', 'duplicate', 'ping', 'delivered'].includes(outcome)
}
