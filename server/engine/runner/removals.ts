import type { DetachedSteps } from '#adapters/executors/detached.ts'
import { type DetachedStep, forgetDetached } from '#engine/scheduling/detached-steps.ts'
import type { Database } from '#platform/database/connect.ts'

type Due = { token: string; statePath: string | null; steps: DetachedSteps | undefined }

/**
 * What the server keeps of the steps of a target whose results are stored. It removes that while a later step runs, as no step
 * has to wait for it. What cannot be removed now is found by a sweep.
 */
export function createRemovals(db: Database) {
  const due: Due[] = []
  const begun: Promise<void>[] = []

  function begin(): void {
    const groups = Map.groupBy(due.splice(0), ({ steps }) => steps)
    for (const [steps, group] of groups) begun.push(remove(steps, group).catch(() => {}))
  }

  async function remove(steps: DetachedSteps | undefined, group: readonly Due[]): Promise<void> {
    const paths = group.flatMap(({ statePath }) => statePath ?? [])
    if (paths.length > 0 && !(await steps?.remove(...paths))) return
    const tokens = group.map(({ token }) => token)
    await forgetDetached(db, tokens)
  }

  return {
    add({ token, statePath }: DetachedStep, steps: DetachedSteps | undefined): void {
      due.push({ token, statePath, steps })
    },
    /** A step has started. */
    begin,
    async finish(): Promise<void> {
      begin()
      await Promise.all(begun)
    },
  }
}
