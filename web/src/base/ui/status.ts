// Statuses, triggers and outcomes as text. Pure.
import type { ActionListItem, HookRequestRecord } from '#web/base/api/types.ts'

export type Status = ActionListItem['status']

/** Each status has its own shape: color only helps. */
export const STATUS_ICONS: Record<Status, string> = {
  pending: '○',
  waiting: '◔',
  queued: '◑',
  'in-progress': '▶',
  completed: '✓',
  failed: '✕',
  skipped: '⤼',
}

export const TRIGGER_LABELS: Record<string, string> = {
  hook: 'Hook',
  manual: 'Manual',
  retry: 'Retry',
  pipeline: 'Another pipeline',
}

/** `Administrator (manual)`. */
export function triggerLabel(type: string, name: string | null | undefined): string {
  const trigger = TRIGGER_LABELS[type] ?? type
  return name ? `${name} (${trigger.toLowerCase()})` : trigger
}

/** Deploys that ship nothing new are named as such. */
export function deployKind(action: Pick<ActionListItem, 'action_data'>): string | undefined {
  return kindOf(action.action_data.deployment?.type)
}

export function kindOf(deploymentType: string | null | undefined): string | undefined {
  return deploymentType === 'rollback' || deploymentType === 'redeploy' ? deploymentType : undefined
}

/** `#42 (rollback)`. */
export function runNumber(id: number, kind: string | undefined): string {
  return `#${id}${kind ? ` (${kind})` : ''}`
}

const OUTCOME_LABELS: Record<string, string> = {
  accepted: 'Accepted: started a run',
  duplicate: 'Duplicate: already processed',
  ping: 'Ping: nothing to run',
  ignored: 'Ignored: conditions not met',
  checks: 'Checks: waiting runs look again',
  rejected_signature: 'Rejected: missing or invalid signature',
  rejected_payload: 'Rejected: invalid payload',
  rejected_variables: 'Rejected: missing or invalid variables',
  rejected_state: 'Rejected: the pipeline cannot run',
  rate_limited: 'Rejected: rate limit exceeded',
  delivered: 'Delivered',
  refused: 'Receiver returned an error',
  redirected: 'Receiver redirected; redirects are not followed',
  timed_out: 'Receiver timed out',
  unreachable: 'Receiver unreachable',
  blocked: 'URL not allowed',
  unrenderable: 'Template failed to render',
  unrecorded: 'Attempt could not be stored',
  superseded: 'Superseded by a newer status',
}

export function outcomeLabel({
  outcome,
  response_status_code: code,
}: Pick<HookRequestRecord, 'outcome' | 'response_status_code'>): string {
  if (outcome === 'refused' && code !== null) return `Receiver returned ${code}`
  return OUTCOME_LABELS[outcome] ?? outcome
}

export function isSuccess(outcome: string): boolean {
  return ['accepted', 'duplicate', 'ping', 'checks', 'delivered'].includes(outcome)
}

/** `1 step`, `2 steps`; `many` where that is not the noun with an s. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`
}
