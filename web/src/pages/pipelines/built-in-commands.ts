// What the built-in steps of a deploy run: it is set on the application.
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { healthText } from '#web/resources/pipelines/health-check-input.ts'

/** By the name of the step; empty for people who may not see the application. */
export function useBuiltInCommands(pipeline: Pipeline): Readonly<Record<string, string | null>> {
  const application = useDeployedApplication(pipeline)
  const check = pipeline.health_check ?? application?.health_check
  return {
    'install-dependencies': application?.install_dependencies_command ?? null,
    'build-application': application?.build_command ?? null,
    'check-health': check ? healthText(check) : null,
  }
}

/** Undefined for people who may not see it, and for other operations. */
export function useDeployedApplication(pipeline: Pipeline) {
  return useGet(queryKeys.builtInCommands(pipeline.resource_id), '/applications/{id}', {
    params: { path: { id: pipeline.resource_id } },
    enabled: pipeline.operation === 'deploy' && pipeline.resource_type === 'application',
  }).data
}
