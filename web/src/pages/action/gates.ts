// What the gates of a run say. Pure.
import type { ActionGates, Gate } from '#web/base/api/types.ts'
import { plural } from '#web/base/ui/status.ts'

type Decision = {
  user: { id: number; name: string }
  decision: 'approved' | 'rejected'
  comment: string | null
  created_at: string
  lapsed_at: string | null
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

export const approvalDetails = ({ details }: Gate) => details as ApprovalDetails
export const freezeDetails = ({ details }: Gate) => details as FreezeDetails

/** Names what the person is asked to approve; null while nothing is. */
export function subjectOf(gates: ActionGates | undefined): string | null {
  const approval = gates?.gates.find(({ gate }) => gate === 'approval')
  return approval ? approvalDetails(approval).subject : null
}

/** A gate that never held the run is not worth a line. */
export function isWorthShowing(gate: Gate): boolean {
  if (gate.gate === 'approval') return true
  return gate.state !== 'open' || freezeDetails(gate).overrides.length > 0
}

export function approvalSummary(gate: Gate): string {
  const { required, decisions, is_preparing } = approvalDetails(gate)
  const given = decisions.filter(({ decision, lapsed_at }) => decision === 'approved' && !lapsed_at).length
  if (gate.state === 'open') return 'Approved'
  if (gate.state === 'failed') return 'Not approved'
  if (is_preparing) return 'Finding out what ships…'
  return `${given} of ${plural(required, 'approval')}`
}

const REASONS: Record<NonNullable<ApprovalDetails['why_not']>, string> = {
  no_permission:
    'Your role does not include action:approve. Ask an administrator of the organization for it.',
  not_listed: 'This environment lists other people or roles as approvers.',
  starter: 'You started this run, or one that it repeats or follows, or you wrote a commit that it ships.',
}

/** Why the person cannot decide; undefined if they can. */
export function whyNot({ you_may_approve, why_not, is_preparing }: ApprovalDetails): string | undefined {
  if (you_may_approve) return undefined
  if (why_not) return REASONS[why_not]
  return is_preparing ? 'Gantry is finding out what ships.' : 'This run does not wait for approval.'
}
