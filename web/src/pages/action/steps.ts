// Which step's log is shown, and what an action's state is in one sentence. Pure.
import type { Action, Step, Target } from '#web/base/api/types.ts'

export type StepRef = { targetId: number; order: number }

/**
 * The one in the URL; else the first that failed, else one in progress, else the last that started. When the run had ended
 * before it was looked at (`hasEnded`), the slowest instead of the last.
 */
export function selectStep(
  targets: Target[],
  param: string | null,
  { hasEnded = false } = {},
): StepRef | undefined {
  const match = /^(\d+)\.(\d+)$/.exec(param ?? '')
  const selected = match && { targetId: Number(match[1]), order: Number(match[2]) }
  if (selected && findStep(targets, selected)) return selected
  const all = targets.flatMap((target) => target.steps.map((step) => ({ target, step })))
  const found =
    all.find(({ step }) => step.status === 'failed') ??
    all.find(({ step }) => step.status === 'in-progress') ??
    (hasEnded ? slowest(all) : undefined) ??
    all.findLast(({ step }) => step.started_at !== null) ??
    all[0]
  return found && { targetId: found.target.id, order: found.step.order }
}

function slowest<One extends { step: Step }>(all: One[]): One | undefined {
  const timed = all.flatMap((one) => {
    const { started_at, completed_at } = one.step
    return started_at && completed_at ? [{ one, ms: Date.parse(completed_at) - Date.parse(started_at) }] : []
  })
  return timed.toSorted((one, other) => other.ms - one.ms)[0]?.one
}

export function findStep(
  targets: Target[],
  { targetId, order }: StepRef,
): { target: Target; step: Step } | undefined {
  const target = targets.find(({ id }) => id === targetId)
  const step = target?.steps.find((one) => one.order === order)
  return target && step && { target, step }
}

export function serverName({ resource_data, resource_id }: Target): string {
  return resource_data?.name ?? `#${resource_id}`
}

const SENTENCES: Record<string, string> = {
  PENDING: 'Queued as soon as the runs it depends on are done.',
  QUEUED: 'Ready, waiting for a worker.',
  WAITING_CONCURRENCY_PIPELINE: 'Waiting for other runs of this pipeline to finish.',
  WAITING_CONCURRENCY_TARGET: 'Waiting for other runs on the server to finish.',
  WAITING_CHECKS: 'Waiting until the checks of its commit are green.',
  WAITING_APPROVAL: 'Waiting until people have approved it.',
  WAITING_FREEZE: 'A freeze holds it: it starts by itself when that is over.',
  WAITING_WORKER: 'No worker that is online can take it: the server belongs to another machine.',
  COMPLETED: 'All targets completed.',
  FAILED: 'The run failed.',
  FAILED_TIMEOUT: 'A step exceeded its timeout and was stopped.',
  FAILED_CANCELLED: 'Canceled by a user.',
  FAILED_WORKER_LOST: 'The worker was lost during a step that is not idempotent.',
  FAILED_UNREACHABLE: 'A server was unreachable.',
  FAILED_SOURCE: 'The branch, tag, commit or repository was not found.',
  FAILED_UNHEALTHY: 'The new release is live, but it failed its health check.',
  FAILED_REVERTED: 'The new release failed and was reverted: the previous one is live.',
  FAILED_REVERT: 'The new release failed, and so did the revert to the previous one.',
  SKIPPED: 'Never ran: a run it depends on failed, or a newer run superseded it.',
  SKIPPED_UNCHANGED: 'Never ran: no file that the paths of its hook match has changed since what is live.',
  FAILED_CHECKS: 'Never ran: a check of its commit failed, or took too long.',
  FAILED_REJECTED: 'Rejected before it started, or before its last servers.',
  FAILED_EXPIRED: 'Its last servers were not approved in time.',
  SKIPPED_EXPIRED: 'Never ran: it was not approved in time.',
  SKIPPED_OUTDATED: 'Never ran: a newer run of its branch has started, or continues instead.',
}

type State = Pick<Action, 'status' | 'status_reason_code' | 'targets' | 'status_reason_human_readable'>

/** Why the action is in its status; for a failure, the steps that failed and where. */
export function stateSummary({ status, status_reason_code, targets, ...action }: State): string {
  if (status === 'in-progress') return progressSummary(targets)
  const sentence = SENTENCES[status_reason_code] ?? action.status_reason_human_readable
  const failed = targets.flatMap((target) =>
    target.steps
      .filter((step) => step.status === 'failed')
      .map((step) => `Step "${step.name}" failed on ${serverName(target)}.`),
  )
  if (status !== 'failed' || failed.length === 0) return sentence
  const more = failed.length > 3 ? [`${failed.length - 3} more failed.`] : []
  const reason = status_reason_code === 'FAILED' ? [] : [sentence]
  return [...reason, ...failed.slice(0, 3), ...more].join(' ')
}

function progressSummary(targets: Target[]): string {
  const steps = targets.flatMap((target) => target.steps)
  const done = steps.filter((step) => step.status === 'completed').length
  const running = steps.filter((step) => step.status === 'in-progress').map((step) => step.name)
  const names = [...new Set(running)].slice(0, 3).join(', ')
  return `${done} of ${steps.length} steps done${names ? `, running ${names}` : ''}.`
}
