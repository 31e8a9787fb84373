// What the gates of a run say. Pure.
import { type components, whatChanged } from '#client/index.ts'
import type { ActionGates, Gate } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'

type Decision = {
  user: { id: number; name: string }
  decision: 'approved' | 'rejected'
  comment: string | null
  created_at: string
  lapsed_at: string | null
  /** An approval by a person who still may approve. */
  counts: boolean
}
export type Covered = {
  servers: {
    name: string
    host: string | null
    port: number | null
    login: string | null
    root_directory: string
  }[]
  steps: { name: string; command: string | null; run_as_user: string | null; health_check: object | null }[]
  application: {
    repository: string
    install_dependencies_command: string | null
    build_command: string | null
    shared_paths: string[]
  } | null
  variables: string[]
  rollout: { batch: number | string; max_failed: number } | null
}
/** `details` of the gate, as the API describes them. */
export type ApprovalDetails = {
  covers: Covered | null
  /** By server. */
  live: object | null
  subject: string | null
  is_preparing: boolean
  required: number
  decisions: Decision[]
  you_may_approve: boolean
  why_not: 'no_permission' | 'not_listed' | 'starter' | null
  problem: string | null
}
export type FreezeDetails = {
  freezes: { id: number; name: string; reason: string; until: string | null; environment_id: number | null }[]
  overrides: { reason: string; user: { id: number; name: string }; created_at: string }[]
}

export type ChecksDetails = components['schemas']['ChecksGateDetails']
export type Check = components['schemas']['GateCheck']
type Override = FreezeDetails['overrides'][number]

export const checksDetails = ({ details }: Gate) => details as ChecksDetails
/** Of a gate that can be overridden. */
export const overridesOf = ({ details }: Gate) => (details as { overrides?: Override[] }).overrides ?? []
export const approvalDetails = ({ details }: Gate) => details as ApprovalDetails
export const freezeDetails = ({ details }: Gate) => details as FreezeDetails

/** Names what the person is asked to approve; null while nothing is. */
export function subjectOf(gates: ActionGates | undefined): string | null {
  const approval = gates?.gates.find(({ gate }) => gate === 'approval')
  return approval ? approvalDetails(approval).subject : null
}

/** A gate that never held the run is not worth a line. */
export function isWorthShowing(gate: Gate): boolean {
  if (gate.gate !== 'freeze') return true
  return gate.state !== 'open' || overridesOf(gate).length > 0
}

/** `waiting, 2 of 3 green`. */
export function checksSummary(gate: Gate): string {
  const { is_preparing, checks, total, message } = checksDetails(gate)
  if (gate.state === 'overridden') return 'let through'
  // Without a message, the run ended for another reason.
  if (gate.state === 'failed') return message === null ? 'not green when the run ended' : 'failed'
  if (gate.state === 'open') return total > 0 ? `${plural(total, 'check')} green` : 'passed'
  if (is_preparing) return 'finding the commit…'
  // Those that hold the run come first, and at most 200 are listed.
  const green = total - checks.filter(({ state }) => state !== 'green').length
  return total === 0 ? 'waiting, none yet' : `waiting, ${green} of ${total} green`
}

const EXPIRED = ['SKIPPED_EXPIRED', 'FAILED_EXPIRED']

/** `reason` is that of the run. */
export function approvalSummary(gate: Gate, reason: string): string {
  const { required, decisions, is_preparing } = approvalDetails(gate)
  const given = decisions.filter(({ counts }) => counts).length
  const lost = decisions.filter((one) => one.lapsed_at === null && !one.counts).length
  if (gate.state === 'open' && given < required && lost > 0)
    return 'Approved, but too few of these people still may: before it starts, it waits for approval again'
  if (gate.state === 'open') return 'Approved'
  if (gate.state === 'failed')
    return EXPIRED.includes(reason) ? 'Expired before it was approved' : 'Not approved'
  if (is_preparing) return 'Finding out what ships…'
  return `${given} of ${plural(required, 'approval')}`
}

const REASONS: Record<NonNullable<ApprovalDetails['why_not']>, string> = {
  no_permission:
    'Your role does not include action:approve. Ask an administrator of the organization for it.',
  not_listed: 'This environment lists other people or roles as approvers.',
  starter: 'You started this run, or one that it repeats or follows, or you wrote a commit that it ships.',
}

/** Why a decision about what was shown would come too late; undefined if it would not. */
export function whyTooLate(gate: Gate, seen: ApprovalDetails, reason: string): string | undefined {
  if (gate.state === 'open') return 'This run was approved meanwhile.'
  if (EXPIRED.includes(reason)) return 'This run has expired: it was not approved in time.'
  if (gate.state !== 'closed') return 'This run no longer waits for approval.'
  const details = approvalDetails(gate)
  if (details.subject === seen.subject) return undefined
  if (details.subject === null) return CHANGED
  return `Since you looked, ${whatChanged(seen, details)} changed. Look at what ships now, then decide again.`
}

/** Before it is known what. */
const CHANGED = 'Something has changed since you looked. Gantry is finding out what would ship now…'
export const LOOK_AGAIN = 'Something has changed since you looked. Look at what ships now, then decide again.'

/** Of a decision that does not count: why. */
export function whyNotCounted({ decision, lapsed_at, counts }: Decision): string | undefined {
  if (lapsed_at) return 'which lapsed: something changed'
  return decision === 'approved' && !counts ? 'who may no longer approve it' : undefined
}

/** Why the person cannot decide; undefined if they can. */
export function whyNot({ you_may_approve, why_not, is_preparing }: ApprovalDetails): string | undefined {
  if (you_may_approve) return undefined
  if (why_not) return REASONS[why_not]
  return is_preparing ? 'Gantry is finding out what ships.' : 'This run does not wait for approval yet.'
}

/** Why the person cannot approve; undefined if they can. */
export function whyNotApprove(details: ApprovalDetails, userId: number): string | undefined {
  const hasApproved = details.decisions.some(({ user, counts }) => counts && user.id === userId)
  return whyNot(details) ?? (hasApproved ? 'You have approved this run.' : undefined)
}
