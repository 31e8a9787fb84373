import { currentPath, releasePath, sharedPath } from '#model/deploy/layout.ts'
import { type StepEnvironment, stepEnvironment } from '#model/deploy/variables.ts'
import type { Run } from './load-run.ts'
import { baseOf } from './release-folder.ts'

/** What a person's command finds in its environment. */
export function environmentOf(run: Run): StepEnvironment {
  const { application, deployment, commit } = run
  const release = run.hasRelease ? run.releaseName : null
  return stepEnvironment({
    hookVariables: run.hookVariables,
    applicationVariables: application?.variables ?? [],
    facts: {
      actionId: run.actionId,
      targetId: run.targetId,
      environment: run.environmentName,
      server: run.server.name,
      application: application?.name ?? null,
      source: deployment?.source_ref
        ? { type: deployment.source_type as 'branch' | 'tag' | 'commit', ref: deployment.source_ref }
        : null,
      commit: commit?.hash ?? null,
      release,
      paths:
        release === null
          ? null
          : {
              release: releasePath(baseOf(run), release),
              current: currentPath(baseOf(run)),
              shared: sharedPath(baseOf(run)),
            },
    },
  })
}
