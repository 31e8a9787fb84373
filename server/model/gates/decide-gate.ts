// Which gate holds a run, from stored facts. Pure: one place decides, for the queue, for slots, for pages and plans.
import type { Gate } from '#platform/vocabulary.ts'

/** A freeze while it is in force: what began at another time, later or because it was moved, is another one. */
export type Occurrence = { id: number; window: { from: number } }

/** What a person let a run through. `from`: when it had begun; null: not stored by an earlier release. */
export type OverriddenFreeze = { id: number; from: number | null; givenAt: number }

export type GateFacts<Freeze extends Occurrence = Occurrence> = {
  /** When its first target began; a started run continues. */
  startedAt: string | null
  /** Back to an earlier release, asked for by a person. */
  isRollback: boolean
  /** What the host says about its commit; null: it waits for none. */
  checks: { state: 'waiting' | 'green' | 'red'; isOverridden: boolean } | null
  /** Who agreed to what it ships; null: it needs no approval. Only approvals of what ships now are counted. */
  approval: { required: number; approvals: number; isRejected: boolean; isExpired: boolean } | null
  /** In force now. */
  freezes: readonly Freeze[]
  overriddenFreezes: readonly OverriddenFreeze[]
}

export type GateVerdict =
  /** Nothing holds it: it may wait for a slot, get one, and begin. */
  | { kind: 'open' }
  | { kind: 'closed'; gate: Gate }
  /** It never starts: `gate` is where it ended. */
  | { kind: 'ended'; gate: Gate; because: 'red' | 'rejected' | 'expired' }

/**
 * In the order of the gates: checks, approval, freeze. What ends a run counts wherever it waits, a rejection first. A run
 * that has enough approvals does not expire.
 */
export function judgeGates(facts: GateFacts): GateVerdict {
  if (facts.startedAt !== null) return { kind: 'open' }
  const checks = facts.isRollback || facts.checks?.isOverridden ? null : facts.checks
  const { approval } = facts
  const isApproved = approval === null || approval.approvals >= approval.required
  if (approval?.isRejected) return { kind: 'ended', gate: 'approval', because: 'rejected' }
  if (checks?.state === 'red') return { kind: 'ended', gate: 'checks', because: 'red' }
  if (!isApproved && approval.isExpired) return { kind: 'ended', gate: 'approval', because: 'expired' }
  if (checks?.state === 'waiting') return { kind: 'closed', gate: 'checks' }
  if (!isApproved) return { kind: 'closed', gate: 'approval' }
  return freezesThatHold(facts).length > 0 ? { kind: 'closed', gate: 'freeze' } : { kind: 'open' }
}

/** Those of the freezes in force that keep a run from starting. Rollbacks are not held: they fix what went wrong. */
export function freezesThatHold<Freeze extends Occurrence>({
  isRollback,
  startedAt,
  freezes,
  overriddenFreezes,
}: Omit<GateFacts<Freeze>, 'checks' | 'approval'>): Freeze[] {
  if (isRollback || startedAt !== null) return []
  return freezes.filter((freeze) => !overriddenFreezes.some((one) => covers(one, freeze)))
}

function covers({ id, from, givenAt }: OverriddenFreeze, { id: freezeId, window }: Occurrence): boolean {
  return id === freezeId && (from === null ? window.from <= givenAt : window.from === from)
}
