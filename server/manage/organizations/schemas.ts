// The organizations room: manages organizations, projects and environments. What is in an environment is managed in
// other rooms, but is removed together with the environment.
import { approvalInput, retentionInput } from '#model/inventory/schemas.ts'
import * as t from '#platform/http/schemas.ts'
import { ENVIRONMENT_TYPES } from '#platform/vocabulary.ts'

export const organizationBody = t.Exactly({ name: t.Name(255, 'The name of the organization.') })
export type OrganizationBody = t.Static<typeof organizationBody>

export const organizationChange = t.Partial(organizationBody, { additionalProperties: false })
export type OrganizationChange = t.Static<typeof organizationChange>

export const projectBody = t.Exactly({
  name: t.Name(255, 'The name of the project, unique in its organization.'),
  logo_url: t.Optional(
    t.TextOrNull({
      format: 'uri',
      pattern: '^https?://',
      maxLength: 2048,
      'x-hint': 'must be an http or https URL',
      description: 'An http or https URL of an image; null: no logo.',
    }),
  ),
})
export type ProjectBody = t.Static<typeof projectBody>

export const projectChange = t.Partial(projectBody, { additionalProperties: false })
export type ProjectChange = t.Static<typeof projectChange>

export const environmentBody = t.Exactly({
  name: t.Name(255, 'The name of the environment, unique in its project.'),
  type: t.Word(
    Object.keys(ENVIRONMENT_TYPES) as (keyof typeof ENVIRONMENT_TYPES)[],
    'The stage that the environment is for.',
  ),
  description: t.Optional(
    t.TextOrNull({ maxLength: 2000, description: 'What the environment is for; null: no description.' }),
  ),
  retention: t.Optional(retentionInput),
  approval: t.Optional(approvalInput),
})
export type EnvironmentBody = t.Static<typeof environmentBody>

export const environmentChange = t.Partial(environmentBody, { additionalProperties: false })
export type EnvironmentChange = t.Static<typeof environmentChange>

export const cascadeQuery = t.Exactly({
  cascade: t.Optional(t.Flag('Also remove everything in it.')),
})
