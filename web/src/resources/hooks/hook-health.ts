// The recent health of a hook, in one sentence. Pure.
import type { HookRequestRecord } from '#web/base/api/types.ts'
import { isSuccess, plural } from '#web/base/ui/status.ts'

/** `requests` are newest first. */
export function healthSummary(requests: HookRequestRecord[]): string {
  const [newest] = requests
  if (!newest) return 'No requests yet'
  const noun = newest.type === 'incoming' ? 'call' : 'attempt'
  const failed = requests.filter(({ outcome }) => !isSuccess(outcome) && !isNeutral(outcome))
  const latest = requests.length === 1 ? noun : plural(requests.length, noun)
  if (failed.length === 0) return `No failures in the last ${latest}`
  const judged = requests.filter(({ outcome }) => !isNeutral(outcome))
  const firstSuccess = judged.findIndex(({ outcome }) => isSuccess(outcome))
  const streak = firstSuccess === -1 ? judged.length : firstSuccess
  const tail = streak > 1 ? `, the latest ${streak} in a row` : ''
  return `${failed.length} of the last ${plural(requests.length, noun)} failed${tail}`
}

/** Neither success nor failure: nothing had to be done. */
function isNeutral(outcome: string): boolean {
  return outcome === 'ignored' || outcome === 'superseded'
}
