// The inventory room: the tree of organizations, projects and environments, and the resources in it.
import { userSchema } from '#access/accounts/user-schema.ts'
import { BUILT_IN_ROLES } from '#access/authorization/permissions.ts'
import type { ApprovalTerms, Approvers, Retention } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
import { ENVIRONMENT_TYPES, OPERATIONS } from '#platform/vocabulary.ts'

export const resourceSummarySchema = t.namedObject('ResourceSummary', {
  resource_type: t.Text('The kind of resource that is counted, such as `server`.'),
  resource_type_plural: t.Text('`resource_type` in the plural, such as `servers`.'),
  resource_type_human_readable: t.humanReadable('resource_type'),
  resource_type_human_readable_plural: t.humanReadable('resource_type_plural'),
  summary: t.Exactly({ count: t.Integer('How many there are.') }, { description: 'The result of counting.' }),
})
export type ResourceSummary = t.Static<typeof resourceSummarySchema>

const resourceSummary = (what: string) =>
  t.List(t.ref(resourceSummarySchema), `Counts of what is in the ${what}, by kind.`)
const usedCredits = t.Integer('Target runs started this month (UTC).')

export const organizationSchema = t.namedObject('Organization', {
  id: t.idOf('organization'),
  name: t.Text('The name of the organization.'),
  url_slug: t.Text('Unique, derived from the name at creation.'),
  resource_summary: resourceSummary('organization'),
  owner: t.ref(userSchema, 'One of its owners.'),
  ...t.timestamps,
})
export type Organization = t.Static<typeof organizationSchema>

export const projectSchema = t.namedObject('Project', {
  id: t.idOf('project'),
  user_id: t.described(t.Id, 'The id of the user who created the project.'),
  name: t.Text('The name of the project, unique in its organization.'),
  logo_url: t.TextOrNull('The URL of its logo; null without one.'),
  resource_summary: resourceSummary('project'),
  os_users: t.List(
    t.Exactly({ name: t.Text('The login name of an account.') }),
    'The accounts that Gantry logs in as on the servers of the project.',
  ),
  organization: t.ref(organizationSchema, 'The organization that the project belongs to.'),
  created_by_user: t.ref(userSchema, 'Who created the project.'),
  used_credits: usedCredits,
  ...t.timestamps,
})
export type Project = t.Static<typeof projectSchema>

export const environmentSchema = t.namedObject('Environment', {
  id: t.idOf('environment'),
  type: t.Word(
    Object.keys(ENVIRONMENT_TYPES) as (keyof typeof ENVIRONMENT_TYPES)[],
    'The stage that the environment is for.',
  ),
  type_human_readable: t.humanReadable('type'),
  name: t.Text('The name of the environment, unique in its project.'),
  description: t.TextOrNull('What the environment is for; null without a description.'),
  used_credits: usedCredits,
  resource_summary: resourceSummary('environment'),
  ...t.timestamps,
  archived_at: t.TimeOrNull('When it was archived; null unless it is. Nothing runs while archived.'),
  project: t.ref(projectSchema, 'The project that the environment belongs to.'),
})
export type Environment = t.Static<typeof environmentSchema>

const limit = (maximum: number, description: string) => ({
  type: ['integer', 'null'],
  minimum: 1,
  maximum,
  default: null,
  description: `${description} Null: forever.`,
})

const retentionLimits = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {
    runs_days: limit(36_500, 'Days to keep runs after they have ended.'),
    runs_per_pipeline: limit(100_000, 'How many runs to keep of each pipeline.'),
    logs_days: limit(36_500, 'Days to keep the logs of runs after they have ended.'),
    requests_days: limit(36_500, 'Days to keep the records of calls and deliveries.'),
  },
}

export const retentionInput = t.Unsafe<Partial<Retention> | null>({
  ...retentionLimits,
  description: 'How long to keep what. Null: the defaults of the installation.',
})

const ids = (description: string) => ({
  type: 'array',
  items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  maxItems: 100,
  uniqueItems: true,
  description,
})
const words = (values: readonly string[], description: string) => ({
  items: { type: 'string', enum: [...values] },
  uniqueItems: true,
  description,
})

export const approvalTerms = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {
    required: {
      type: 'integer',
      minimum: 1,
      maximum: 5,
      default: 1,
      description: 'How many people approve.',
    },
    from: {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: {
        user_ids: ids('These users.'),
        role_ids: ids('Users with one of these custom roles there.'),
        roles: { type: 'array', ...words(BUILT_IN_ROLES, 'Users with one of these built-in roles there.') },
      },
      default: null,
      description: 'Who may approve; each of them also needs `action:approve`. Null: everyone who has it.',
    },
    not_the_starter: {
      type: 'boolean',
      default: true,
      description:
        'People who started, retried or replayed the run, or one that it follows, cannot approve it; nor can authors of the commits that a hook run ships.',
    },
    expires_after_minutes: {
      type: 'integer',
      minimum: 1,
      maximum: 525_600,
      default: 10_080,
      description: 'How long a run waits for approval.',
    },
    operations: {
      type: ['array', 'null'],
      minItems: 1,
      ...words(Object.keys(OPERATIONS), 'The operations whose runs need approval. Null: all.'),
      default: null,
    },
    rollbacks: {
      type: 'boolean',
      default: false,
      description:
        'Whether rollbacks need approval in any case; otherwise only those that run other steps, commands or variables than the last run.',
    },
  },
}

export const approvalInput = t.Unsafe<
  (Partial<Omit<ApprovalTerms, 'from'>> & { from?: Partial<Approvers> | null }) | null
>({ ...approvalTerms, description: 'Who approves runs before they start. Null: no one has to.' })

/** An environment as its own routes show it: with its settings. */
export const environmentRecordSchema = t.namedObject('EnvironmentRecord', {
  ...environmentSchema.properties,
  retention: t.Unsafe<Retention | null>({
    ...retentionLimits,
    required: Object.keys(retentionLimits.properties),
    description: 'How long it keeps what. Null: the defaults of the installation.',
  }),
  approval: t.Unsafe<ApprovalTerms | null>({
    ...approvalTerms,
    required: Object.keys(approvalTerms.properties),
    description: 'Who approves runs before they start. Null: no one has to.',
  }),
  effective_retention: t.Unsafe<Retention>({
    ...retentionLimits,
    type: 'object',
    required: Object.keys(retentionLimits.properties),
    description: 'The limits that apply: its own, or the defaults of the installation.',
  }),
})
export type EnvironmentRecord = t.Static<typeof environmentRecordSchema>

export const inventorySchemas = [
  resourceSummarySchema,
  organizationSchema,
  projectSchema,
  environmentSchema,
  environmentRecordSchema,
]
