import type { Step, Target } from '../api-types.ts'

export type StepChoice = { targetId: number; order: number }

/** What the address names; else where it failed, else where it runs, else where it got to. Pure. */
export function chooseStep(targets: Target[], named: string | null): StepChoice | undefined {
  const match = /^(\d+)\.(\d+)$/.exec(named ?? '')
  const choice = match && { targetId: Number(match[1]), order: Number(match[2]) }
  if (choice && findStep(targets, choice)) return choice
  const all = targets.flatMap((target) => target.steps.map((step) => ({ target, step })))
  const telling =
    all.find(({ step }) => step.status === 'failed') ??
    all.find(({ step }) => step.status === 'in-progress') ??
    all.findLast(({ step }) => step.started_at !== null) ??
    all[0]
  return telling && { targetId: telling.target.id, order: telling.step.order }
}

export function findStep(
  targets: Target[],
  { targetId, order }: StepChoice,
): { target: Target; step: Step } | undefined {
  const target = targets.find((one) => one.id === targetId)
  const step = target?.steps.find((one) => one.order === order)
  return target && step && { target, step }
}
