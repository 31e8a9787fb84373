// The steps of the guided setup after the first, and what a deploy will do. Pure.
import type { ApplicationValues } from '#web/resources/applications/application-input.ts'

export const LATER_STEPS = [
  'Repository',
  'Servers',
  'Health check',
  'Build and deploy',
  'Deploy on push',
] as const

/** In the URL, as `step`. */
export type StepName = 'repository' | 'servers' | 'health' | 'build'
const ORDER: readonly StepName[] = ['repository', 'servers', 'health', 'build']

export function readStep(text: string | null): StepName {
  return ORDER.find((name) => name === text) ?? 'repository'
}

export function stateOf(name: StepName, current: StepName): 'done' | 'current' | 'later' {
  const difference = ORDER.indexOf(name) - ORDER.indexOf(current)
  return difference < 0 ? 'done' : difference === 0 ? 'current' : 'later'
}

const FIELDS_OF_STEPS: Partial<Record<string, StepName>> = {
  repository: 'repository',
  credential_id: 'repository',
  default_branch: 'repository',
  linked_resources: 'servers',
}

/** The earliest step with an input that the API rejected. */
export function stepWithError(errors: Record<string, unknown>): StepName | undefined {
  const steps = Object.keys(errors).map(
    (field) => FIELDS_OF_STEPS[field] ?? (field.startsWith('health_') ? 'health' : 'build'),
  )
  return ORDER.find((name) => steps.includes(name))
}

type PreviewStep = { name: string; text: string; command?: string }

/** What a deploy pipeline does with this application. */
export function previewSteps(values: ApplicationValues): PreviewStep[] {
  const install = values.install_dependencies_command.trim()
  const build = values.build_command.trim()
  const keep = values.deployments_keep === '' ? 5 : values.deployments_keep
  return [
    { name: 'check-app-environment', text: 'Checks that the server is ready' },
    { name: 'get-new-release', text: `Copies ${values.default_branch.trim() || 'main'} into a new folder` },
    {
      name: 'install-dependencies',
      text: install ? 'Runs' : 'Skipped: no command set',
      ...(install && { command: install }),
    },
    {
      name: 'build-application',
      text: build ? 'Runs' : 'Skipped: no command set',
      ...(build && { command: build }),
    },
    { name: 'activate-new-release', text: 'Makes the new release live' },
    ...(values.health_type === ''
      ? []
      : [{ name: 'check-health', text: 'Checks that the new release is healthy' }]),
    {
      name: 'remove-old-releases',
      text: `Keeps ${keep === 1 ? 'the last release' : `the last ${keep} releases`}`,
    },
  ]
}
