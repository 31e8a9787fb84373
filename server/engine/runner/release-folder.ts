import { baseFolder, releasePath } from '#model/deploy/layout.ts'
import type { Run } from './load-run.ts'

/** The folder of the application on the target. */
export function baseOf({ server, application }: Run): string {
  return baseFolder(server.rootDirectory, application!.folder)
}

/** Where steps of a deploy work, once there is a release; null before, and in runs that deploy nothing. */
export function releaseFolder(run: Run): string | null {
  return run.hasRelease && run.releaseName !== null ? releasePath(baseOf(run), run.releaseName) : null
}
