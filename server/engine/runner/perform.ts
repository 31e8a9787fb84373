import type { DeploySteps } from './perform-deploy.ts'
import { performOwn } from './perform-own.ts'
import { failed, type StepOutcome, type StepTools } from './run-step.ts'

/** Does what a step is there for: a person's command, or one of the built-in steps of a deploy. */
export function createPerform(deploySteps: DeploySteps): (tools: StepTools) => Promise<StepOutcome> {
  return async (tools) => {
    if (tools.isResumed) {
      const taken = await deploySteps.takeOver(tools)
      if (taken.kind !== 'done') return taken
    }
    if (!tools.step.builtIn) return performOwn(tools, tools.step.command!)
    const perform = deploySteps.byName.get(tools.step.name)
    return perform ? perform(tools) : failed('FAILED', `Gantry knows no built-in step ${tools.step.name}.`)
  }
}
