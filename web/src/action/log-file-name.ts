/** One name for each log of an action: the same step runs on every server. Pure. */
export function logFileName(actionId: number, step: string, server: string): string {
  const plain = `action-${actionId}-${step}-on-${server}`.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
  return `${plain}.log`
}
