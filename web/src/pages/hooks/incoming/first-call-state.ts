// Has the sender reached the hook? Pure.
import type { HookRequestRecord } from '#web/base/api/types.ts'

type FirstCallState =
  | { kind: 'waiting' }
  | { kind: 'rejected'; call: HookRequestRecord }
  | { kind: 'received'; call: HookRequestRecord }

/** `calls` are newest first. A ping and an ignored call show that the sender is set up. */
export function firstCallState(calls: readonly HookRequestRecord[]): FirstCallState {
  const received = calls.find(({ outcome }) => !outcome.startsWith('rejected') && outcome !== 'rate_limited')
  if (received)
    return { kind: 'received', call: calls.find(({ action_id }) => action_id !== null) ?? received }
  return calls[0] ? { kind: 'rejected', call: calls[0] } : { kind: 'waiting' }
}
