import type { Action } from '../api-types.ts'

type Told = Pick<Action, 'status' | 'status_reason_code' | 'targets' | 'status_reason_human_readable'>

const SENTENCES: Record<string, string> = {
  PENDING: 'It is queued as soon as what it depends on is done.',
  QUEUED: 'It is ready and waits for a worker.',
  WAITING_CONCURRENCY_PIPELINE:
    'Other actions of its pipeline use up what may run at once. It goes on when one of them ends.',
  WAITING_CONCURRENCY_TARGET:
    'Other actions use up what may run on its server at once. It goes on when one of them ends.',
  COMPLETED: 'Every target completed.',
  FAILED: 'A step ended with an error.',
  FAILED_TIMEOUT: 'A step took longer than it may and was stopped.',
  FAILED_CANCELLED: 'A person cancelled it.',
  FAILED_WORKER_LOST: 'The worker that ran it died, and the step it was at may not be repeated.',
  FAILED_UNREACHABLE: 'A server could not be reached.',
  FAILED_SOURCE: 'The branch, tag, commit or repository was not found.',
  SKIPPED: 'It never ran: what came before it failed, or a newer run took its place.',
}

/** Why the action stands where it stands; for a failure, where it happened. Pure. */
export function reasonInWords({ status, status_reason_code, targets, ...action }: Told): string {
  if (status === 'in-progress') return progressInWords(targets)
  const sentence = SENTENCES[status_reason_code] ?? action.status_reason_human_readable
  if (status !== 'failed') return sentence
  const broken = targets.flatMap((target) =>
    target.steps
      .filter((step) => step.status === 'failed')
      .map((step) => `${step.name} on ${target.resource_data?.name ?? `#${target.resource_id}`}`),
  )
  const places = broken.slice(0, 3).join(', ')
  const more = broken.length > 3 ? ` and ${broken.length - 3} more` : ''
  return broken.length === 0 ? sentence : `${sentence} It happened at ${places}${more}.`
}

function progressInWords(targets: Told['targets']): string {
  const steps = targets.flatMap((target) => target.steps)
  const done = steps.filter((step) => step.status === 'completed').length
  const running = targets.flatMap((target) =>
    target.steps.filter((step) => step.status === 'in-progress').map((step) => step.name),
  )
  const names = [...new Set(running)].slice(0, 3).join(', ')
  return `${done} of ${steps.length} steps done${names ? `, now at ${names}` : ''}.`
}
