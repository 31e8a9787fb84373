// The pipelines room: what a run consists of: targets × steps, queue policy, and here the steps that every deploy
// has.

/** In execution order; custom steps come between them. */
export const DEPLOY_STEPS = [
  { name: 'check-app-environment', description: 'Check that the server is ready for the application' },
  { name: 'get-new-release', description: 'Bring the source of the new release to the server' },
  { name: 'install-dependencies', description: 'Install what the application needs' },
  { name: 'build-application', description: 'Build the application' },
  { name: 'activate-new-release', description: 'Make the new release the live one' },
  { name: 'remove-old-releases', description: 'Remove releases that are no longer kept' },
] as const

/** Part of a deploy only with a health check, and then always right before `remove-old-releases`. */
export const CHECK_HEALTH = {
  name: 'check-health',
  description: 'Check that the new release is healthy',
} as const

/** Added to a run when a step fails after activation (engine/scheduling/revert-plan.ts). No pipeline has it. */
export const REVERT_RELEASE = {
  name: 'revert-release',
  description: 'Revert to the release that was live before',
} as const

/** The steps that switch `current`. When one ends without an outcome, what is live has to be found out. */
export const SWITCHES = ['activate-new-release', REVERT_RELEASE.name] as const

export function isSwitch(name: string): name is (typeof SWITCHES)[number] {
  return SWITCHES.some((one) => one === name)
}

/** The runner has a handler for each (`satisfies Record<DeployStep, …>`): a missing one does not compile. */
export type DeployStep = (typeof DEPLOY_STEPS | [typeof CHECK_HEALTH, typeof REVERT_RELEASE])[number]['name']

/** The runner recognizes the steps of a deploy by name, so custom steps cannot use these names. */
export const BUILT_IN_NAMES: ReadonlySet<string> = new Set(
  [...DEPLOY_STEPS, CHECK_HEALTH, REVERT_RELEASE].map(({ name }) => name),
)

/** Built-in and custom steps together. */
export const MAX_STEPS = 200
