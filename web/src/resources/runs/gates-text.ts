// Which gates a run will meet, in a sentence. Pure.
import type { RunPlan } from '#web/base/api/types.ts'

const UNTIL: Record<RunPlan['gates'][number]['gate'], string> = {
  checks: 'the checks of its commit are green',
  approval: 'people have approved it',
  freeze: 'a freeze is over',
}

/** `Will wait until the checks of its commit are green, and until people have approved it`. */
export function gatesText(gates: RunPlan['gates']): string {
  return `Will wait ${gates.map(({ gate }) => `until ${UNTIL[gate]}`).join(', and ')}`
}
