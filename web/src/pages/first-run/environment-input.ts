// Where a new application goes. Pure.
import type { NameEntry, Organization } from '#web/base/api/types.ts'
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

/** The selected environment, else the first one, else new names. */
export function environmentInput(
  environments: readonly Pick<NameEntry, 'id'>[],
  organizations: readonly Organization[],
  selected: number | undefined,
): EnvironmentInput {
  const sample = findSample(organizations)
  const found = environments.find(({ id }) => id === selected) ?? environments[0]
  return {
    existing: found ? String(found.id) : NEW,
    organization: 'My organization',
    project: 'My project',
    environment: 'Production',
    organizationId: organizations.find(({ id }) => id !== sample?.id)?.id,
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
