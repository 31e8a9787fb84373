import type { StoredStep } from '#platform/database/tables.ts'
import { findIrreversible, loadMarks } from './decide-revert.ts'
import { isHeld, type Resolution, resolveHeld } from './held-targets.ts'
import { failedOnlyAtCleanup, revertSteps } from './revert-plan.ts'
import type { ScheduledAction, ScheduledTarget } from './scheduled-action.ts'
import type { SchedulingPass } from './scheduling-pass.ts'

const COMPLETED = { status: 'completed', reason: 'COMPLETED' } as const

/** Held targets whose action has ended well, or does not take all of them back. */
export async function completeHeld(pass: SchedulingPass): Promise<void> {
  for (const action of pass.loaded()) complete(pass, await resolve(pass, action))
}

/**
 * The held targets that go back next, and their steps then; those that do not are completed. After an irreversible step,
 * none does. Call it again when one of them has gone back.
 */
export async function planReturns(pass: SchedulingPass): Promise<Map<ScheduledTarget, StoredStep[]>> {
  const returns = new Map<ScheduledTarget, StoredStep[]>()
  for (const action of pass.loaded()) {
    const resolved = await resolve(pass, action)
    complete(pass, resolved)
    if (resolved.kind !== 'back') continue
    const marks = await loadMarks(pass.trx, resolved.targets[0]!.id)
    if ((await findIrreversible(pass.trx, action.id, marks)).length > 0) {
      complete(pass, { kind: 'done', targets: action.targets.filter(isHeld) })
      continue
    }
    const steps = await pass.steps(resolved.targets)
    for (const [index, target] of resolved.targets.entries())
      returns.set(target, [...steps[index]!, ...revertSteps(steps[index]!, marks)])
  }
  return returns
}

function complete(pass: SchedulingPass, resolved: Resolution<ScheduledTarget>): void {
  if (resolved.kind === 'done') for (const target of resolved.targets) pass.moveTarget(target, COMPLETED)
}

async function resolve(pass: SchedulingPass, action: ScheduledAction): Promise<Resolution<ScheduledTarget>> {
  const resolved = resolveHeld(action)
  if (resolved.kind !== 'back') return resolved
  const failed = action.targets.filter(({ status }) => status === 'failed')
  const marks = await loadMarks(pass.trx, resolved.targets[0]!.id)
  const steps = await pass.steps(failed)
  return resolveHeld(action, new Set(failed.filter((_, index) => failedOnlyAtCleanup(steps[index]!, marks))))
}
