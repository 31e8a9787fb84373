import { createHash } from 'node:crypto'
import type { CapturedValues } from '#model/hooks/captured.ts'
import type { CompiledRequests, PlannedRequest } from '#model/hooks/compile-requests.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'

/** What a hook has captured from the answers about one action. */
export type Captured = {
  values: CapturedValues
  /** What was created no longer exists, and it was created once more. */
  isRecreated: boolean
  /** Another delivery about the action was tried: a receiver that knows its key returns what that one created. */
  mayExist?: boolean
}

export const NOTHING_CAPTURED: Captured = { values: {}, isRecreated: false }

/** `only`: the hook has one request for everything. */
export type RequestKind = 'create' | 'update' | 'only'

/** The request to send next: `create` until every required value is known. Pure. */
export function chooseRequest(
  { update, first }: CompiledRequests,
  { capture }: Pick<OutgoingHook, 'capture'>,
  { values }: Captured,
): { kind: RequestKind; planned: PlannedRequest } {
  if (!update) return { kind: 'only', planned: first }
  const isCreated = capture.every(({ name, required }) => !required || Object.hasOwn(values, name))
  return isCreated ? { kind: 'update', planned: update } : { kind: 'create', planned: first }
}

/**
 * For receivers that detect duplicates: the same for every attempt to create something for an action, whichever of its
 * deliveries tries, and for every attempt of any other delivery. Short enough for Discord's `nonce`.
 */
export function idempotencyKey(
  hookId: string,
  kind: RequestKind,
  { actionId, deliveryId, isRecreated }: { actionId: number; deliveryId: string; isRecreated: boolean },
): string {
  const subject = kind === 'create' ? `${actionId}/${isRecreated}` : deliveryId
  return createHash('sha256').update(`${hookId}/${kind}/${subject}`).digest('base64url').slice(0, 22)
}
