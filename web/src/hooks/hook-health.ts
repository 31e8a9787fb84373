// How a hook has fared lately, in one sentence. Pure.
import type { HookRequestRecord } from '../api-types.ts'
import { isGoodOutcome } from '../words/outcomes.ts'

/** `requests` newest first. */
export function healthInWords(requests: HookRequestRecord[]): string {
  const [newest] = requests
  if (!newest) return 'Nothing has come or gone through it yet.'
  const what = newest.type === 'incoming' ? 'calls' : 'attempts'
  const bad = requests.filter(({ outcome }) => !isGoodOutcome(outcome) && !isNeutral(outcome))
  if (bad.length === 0) return `The last ${requests.length} ${what} went well.`
  const inARow = requests.findIndex(({ outcome }) => isGoodOutcome(outcome))
  const streak = inARow === -1 ? requests.length : inARow
  const tail = streak > 1 ? `, the last ${streak} in a row` : ''
  return `${bad.length} of the last ${requests.length} ${what} failed${tail}.`
}

/** Neither good nor bad: nothing was to be done. */
function isNeutral(outcome: string): boolean {
  return outcome === 'ignored' || outcome === 'superseded'
}
