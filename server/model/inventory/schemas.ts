// The inventory room: the tree of organizations, projects and environments, and the resources in it.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import {
  Exactly,
  Id,
  namedObject,
  ref,
  TextOrNull,
  TimestampOrNull,
  timestamps,
  Word,
} from '#platform/http/schemas.ts'
import { ENVIRONMENT_TYPES } from '#platform/vocabulary.ts'

export const resourceSummarySchema = namedObject('ResourceSummary', {
  resource_type: Type.String(),
  resource_type_plural: Type.String(),
  resource_type_human_readable: Type.String(),
  resource_type_human_readable_plural: Type.String(),
  summary: Exactly({ count: Type.Integer() }),
})
export type ResourceSummary = Static<typeof resourceSummarySchema>

export const organizationSchema = namedObject('Organization', {
  id: Id,
  name: Type.String(),
  url_slug: Type.String(),
  resource_summary: Type.Array(ref(resourceSummarySchema)),
  owner: ref(userSchema),
  ...timestamps,
})
export type Organization = Static<typeof organizationSchema>

export const projectSchema = namedObject('Project', {
  id: Id,
  user_id: Id,
  name: Type.String(),
  logo_url: TextOrNull(),
  resource_summary: Type.Array(ref(resourceSummarySchema)),
  os_users: Type.Array(Exactly({ name: Type.String() })),
  organization: ref(organizationSchema),
  created_by_user: ref(userSchema),
  used_credits: Type.Integer({ description: 'Target runs started this month (UTC).' }),
  ...timestamps,
})
export type Project = Static<typeof projectSchema>

export const environmentSchema = namedObject('Environment', {
  id: Id,
  type: Word(Object.keys(ENVIRONMENT_TYPES) as (keyof typeof ENVIRONMENT_TYPES)[]),
  type_human_readable: Type.String(),
  name: Type.String(),
  description: TextOrNull(),
  used_credits: Type.Integer({ description: 'Target runs started this month (UTC).' }),
  resource_summary: Type.Array(ref(resourceSummarySchema)),
  ...timestamps,
  archived_at: TimestampOrNull,
  project: ref(projectSchema),
})
export type Environment = Static<typeof environmentSchema>

export const inventorySchemas = [resourceSummarySchema, organizationSchema, projectSchema, environmentSchema]
