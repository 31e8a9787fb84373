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

/** The runner has a handler for each (`satisfies Record<DeployStep, …>`): a missing one does not compile. */
export type DeployStep = (typeof DEPLOY_STEPS)[number]['name']

/** Built-in and custom steps together. */
export const MAX_STEPS = 200
