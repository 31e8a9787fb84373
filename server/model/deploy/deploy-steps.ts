// What the runner takes from this room.

export { activateRelease } from './activate-new-release.ts'
export { checkAppEnvironment } from './check-app-environment.ts'
export { extractRelease, finishRelease, takeLock } from './get-new-release.ts'
export { baseFolder, currentPath, type DeployCommand, releasePath, sharedPath } from './layout.ts'
export { type OwnCommand, ownCommand } from './own-command.ts'
export { freeReleaseName } from './release-name.ts'
export {
  canActivateAgain,
  type FoundReleases,
  listReleases,
  readReleases,
  releasesToRemove,
  removeReleases,
} from './remove-old-releases.ts'
export { readSharedPaths, type SharedPath } from './shared-paths.ts'
export { type Attempt, LOCK_LOST } from './shell.ts'
export { type StepEnvironment, type StepFacts, type StepVariables, stepEnvironment } from './variables.ts'
