/** An action, a target or a step with one of these statuses does not change anymore. */
export function hasEnded(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'skipped'
}
