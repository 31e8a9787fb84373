import { DEPLOY_STEPS } from '#pipelines/built-in-steps.ts'

/** Steps that every deploy has already: a document speaks of them only to change how long they may take. */
export function isBuiltInName(name: string): boolean {
  return DEPLOY_STEPS.some((step) => step.name === name)
}
