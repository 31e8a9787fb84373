// Where a new application goes. Pure.
import type { NameEntry, Organization } from '#web/base/api/types.ts'
import type { Scope } from '#web/shared/scope/scope.ts'
import { findSample } from './checklist.ts'

export const NEW = 'new'

export type EnvironmentInput = {
  /** The id of an environment, or `new`. */
  existing: string
  organization: string
  project: string
  environment: string
  /** A new project goes there; undefined: into a new organization. */
  organizationId: number | undefined
}

/** The selected environment, else the first one of the selected organization, else new names. */
export function environmentInput(
  environments: readonly Pick<NameEntry, 'id' | 'organization'>[],
  organizations: readonly Organization[],
  selected: Pick<Scope, 'organization' | 'environment'>,
): EnvironmentInput {
  const sample = findSample(organizations)
  const inScope = (id: number) => selected.organization === undefined || id === selected.organization
  const found =
    environments.find(({ id }) => id === selected.environment) ??
    environments.find(({ organization }) => inScope(organization.id))
  const own = organizations.filter(({ id }) => id !== sample?.id)
  return {
    existing: found ? String(found.id) : NEW,
    organization: 'My organization',
    project: 'My project',
    environment: 'Production',
    organizationId: (own.find(({ id }) => inScope(id)) ?? own[0])?.id,
  }
}

export function validateEnvironment({
  existing,
  organization,
  project,
  environment,
  organizationId,
}: EnvironmentInput) {
  if (existing !== NEW) return {}
  return {
    organization: organizationId === undefined && !organization.trim() ? 'Enter a name.' : null,
    project: project.trim() ? null : 'Enter a name.',
    environment: environment.trim() ? null : 'Enter a name.',
  }
}
