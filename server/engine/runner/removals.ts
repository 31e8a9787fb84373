import type { DetachedSteps } from '#adapters/executors/detached.ts'
import { type DetachedStep, forgetDetached } from '#engine/scheduling/detached-steps.ts'
import type { Database } from '#platform/database/connect.ts'

/**
 * What the server keeps of the steps of a target whose results are stored. It removes that while the next step runs, as no step
 * has to wait for it. What cannot be removed now is found by a sweep.
 */
export function createRemovals(db: Database) {
  const due: (() => Promise<void>)[] = []
  const begun: Promise<void>[] = []

  function begin(): void {
    for (const remove of due.splice(0)) begun.push(remove().catch(() => {}))
  }

  return {
    add({ token, statePath }: DetachedStep, steps: DetachedSteps | undefined): void {
      due.push(async () => {
        if (statePath === null || (await steps?.remove(statePath))) await forgetDetached(db, [token])
      })
    },
    begin,
    async finish(): Promise<void> {
      begin()
      await Promise.all(begun)
    },
  }
}
